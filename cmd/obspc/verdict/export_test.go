package verdict

import "github.com/obspc/obspc/verify/release"

func version() string { return release.Version }
