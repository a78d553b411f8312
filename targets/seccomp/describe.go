package seccomp

import "strconv"

// Describe names a call for people, and what it asks for where its arguments tell:
// "socket" and "AF_UNIX". A call that no table has is its number.
func Describe(a Arch, d Data) (name, what string) {
	name = callName(a, int64(d.Nr))
	if name == "" {
		name = "system call " + strconv.FormatUint(uint64(d.Nr), 10)
	}
	switch name {
	case "ioctl":
		what = valueName(uint32(d.Args[1]))
	case "socket", "socketpair":
		family, kind := uint32(d.Args[0]), uint32(d.Args[1])&sockTypeMask
		if what = familyName(family); what == "" {
			what = "address family " + strconv.FormatUint(uint64(family), 10)
		} else if t := typeName(kind); t != "" {
			what += ", " + t
		}
	}
	return name, what
}
