package sbpl

// truth is a value of three-valued logic. The order makes min and max its and and or.
type truth uint8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

func (t truth) not() truth { return yes - t }
