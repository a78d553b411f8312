# Directories of secrets are denied.
package obspc.rules.secrets_denied

import data.obspc.paths

# Where programs keep keys, tokens and passwords below a home.
secrets := [
	".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".config/gh", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc",
	".cargo/credentials.toml", ".git-credentials", ".password-store", "Library/Keychains",
]

# homes are paths that a home lies at or below, where one is granted.
deny contains {"message": message, "path": ["files", i]} if {
	some i, rule in input.files
	rule.level != "deny"
	not rule.only
	rule.path == "${home}"
	some secret in secrets
	paths.level(concat("/", ["${home}", secret])) != "deny"
	message := sprintf("${home}/%s can be read; add it to deny", [secret])
}

deny contains {"message": message, "path": ["files", i]} if {
	some i, rule in input.files
	rule.level != "deny"
	not rule.only
	rule.path in ["/", "/home", "/root", "/Users"]
	message := sprintf("%s holds homes of users with their keys; name what is needed below ${home}", [rule.path])
}
