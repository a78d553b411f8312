package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/obspc/obspc/verify/release"
	"github.com/obspc/obspc/verify/sign"
)

// passwordVariable gives the password of a private key where there is no terminal.
const passwordVariable = "OBSPC_PASSWORD"

func keygenCommand() *cli.Command {
	return &cli.Command{
		Name:      "keygen",
		Usage:     "make a key pair that signs releases",
		ArgsUsage: "NAME",
		Description: `Writes NAME.key, encrypted with a password in the format of cosign, and NAME.pub,
which consumers pin. Neither replaces a file. The password is asked for on the
terminal, or taken from OBSPC_PASSWORD.

   obspc keygen release
   obspc pin release/ --key release.pub`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "type", Value: string(release.ECDSAP256), Usage: "`TYPE` of the key: ecdsa-p256 or ed25519"},
		},
		Action: keygen,
	}
}

func keygen(c *cli.Context) error {
	name, err := oneArgument(c, "NAME")
	if err != nil {
		return err
	}
	kind := release.KeyType(c.String("type"))
	if kind != release.ECDSAP256 && kind != release.Ed25519 {
		return wrongCall("there is no key type %q; write %s or %s", kind, release.ECDSAP256, release.Ed25519)
	}
	for _, file := range []string{name + ".key", name + ".pub"} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return wrongCall("%s is there already; a key is never replaced", file)
		}
	}
	password, err := password(c, true)
	if err != nil {
		return err
	}
	private, public, err := sign.Generate(kind, password)
	if err != nil {
		return wrongCall("%w", err)
	}
	if err := newFile(name+".key", private, 0o600); err != nil {
		return &exitError{exitMachine, err}
	}
	if err := newFile(name+".pub", public, 0o644); err != nil {
		return &exitError{exitMachine, err}
	}
	key, err := release.ParseKey(public)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "%s.key, %s.pub: %s %s\n", name, name, key.Type, key.ID())
	return nil
}

// newFile writes a file that must not be there.
func newFile(name string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(name)
	}
	return err
}

// password is that of a private key: OBSPC_PASSWORD, or what is typed. A new one is
// typed twice.
func password(c *cli.Context, fresh bool) ([]byte, error) {
	if given, ok := os.LookupEnv(passwordVariable); ok {
		return []byte(given), nil
	}
	in, ok := c.App.Reader.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, wrongCall("there is no terminal to ask for the password; set %s", passwordVariable)
	}
	first, err := typed(c, in, "password: ")
	if err != nil || !fresh {
		return first, err
	}
	again, err := typed(c, in, "the same again: ")
	if err == nil && string(first) != string(again) {
		err = wrongCall("the two passwords differ")
	}
	return first, err
}

func typed(c *cli.Context, in *os.File, prompt string) ([]byte, error) {
	fmt.Fprint(c.App.ErrWriter, prompt)
	text, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(c.App.ErrWriter)
	if err != nil {
		return nil, &exitError{exitMachine, err}
	}
	return text, nil
}
