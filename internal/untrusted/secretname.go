package untrusted

import (
	"regexp"
	"strings"
)

// suspicion is how strongly a name says that its value is a secret.
type suspicion int

const (
	harmless suspicion = iota
	likely             // "token", "key": a number or a switch under such a name is no secret
	certain            // "password", "secret": whatever stands there is hidden
)

var (
	wordBreak = regexp.MustCompile(`[^A-Za-z0-9]+`)
	camel     = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	smallish  = regexp.MustCompile(
		`^(?i:[-+]?[0-9]{1,7}(\.[0-9]+)?(e[-+]?[0-9]+)?|true|false|yes|no|on|off|none|null|auto|default)?$`)
)

var (
	certainWords = set("password passwd passphrase passcode pwd secret secrets credential credentials apikey apikeys " +
		"accesskey secretkey privatekey")
	likelyWords = set("token tokens key keys auth authorization bearer signature sig cookie pat dsn jwt sshkey " +
		"licensekey pass apitoken authkey")

	// afterSecret are last words that turn the value into something about the secret: --password-file, --secret-len.
	afterSecret = set("file files path dir folder length len dim size policy prompt name type count version enabled " +
		"url uri env min max mode")

	// beforeToken and beforeKey are neighbours under which PyTorch, Hugging Face and data tools use the words for
	// vocabulary entries and for the fields of a sample: --pad-token, --image-key, --sort_key.
	beforeToken = set("pad eos bos unk mask cls sep special class img image video audio start end stop prefix suffix " +
		"patch register max min num n per new total prompt context seq sequence batch added additional extra decoder " +
		"forced first last")
	beforeKey = set("image images img label labels target sort data dataset h5 hdf5 input output metric monitor " +
		"feature features field group primary foreign partition cache query state ckpt checkpoint rng prng random " +
		"column index batch model sample mask attr attribute text caption video audio x y by public max min num n " +
		"hot row map config")
)

// judgeName tells from a flag, variable, header or JSON key whether its value is a secret.
func judgeName(name string) suspicion {
	words := strings.Fields(wordBreak.ReplaceAllString(strings.ToLower(camel.ReplaceAllString(name, "$1 $2")), " "))
	if len(words) == 0 {
		return harmless
	}
	last := words[len(words)-1]
	before := ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	for i, word := range words {
		if !certainWords[word] && !strings.HasSuffix(word, "password") && !strings.HasSuffix(word, "passwd") &&
			!strings.HasSuffix(word, "secret") {
			continue
		}
		if i == len(words)-1 || !afterSecret[last] {
			return certain
		}
	}
	switch {
	case last == "id" && before == "key" && len(words) > 2 && words[len(words)-3] == "access":
		return certain // AWS_ACCESS_KEY_ID
	case last == "value" && (before == "token" || before == "key"), last == "string" && before == "connection":
		return likely
	case last == "key" || last == "keys":
		if beforeKey[before] {
			return harmless
		}
		return likely
	case last == "token" || last == "tokens":
		if beforeToken[before] {
			return harmless
		}
		return likely
	case likelyWords[last], strings.HasSuffix(last, "token"), strings.HasSuffix(last, "apikey"):
		return likely
	}
	return harmless
}

// hidden says whether value must not be shown under a name of this suspicion.
func (s suspicion) hidden(value string) bool {
	switch s {
	case certain:
		return value != ""
	case likely:
		return !smallish.MatchString(value)
	}
	return false
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(words) {
		m[word] = true
	}
	return m
}
