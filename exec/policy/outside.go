// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// scanState is the state of a scanner that looks for a path in an argument, character by character. It does not depend
// on the program. A path may begin wherever a program could parse the beginning of a value, as in --opt=/x, -C.., @/x,
// file:/x and a,../b.
type scanState uint8

const (
	atValue     scanState = iota // beginning of a value, which may be an option
	afterDashes                  // beginning of a value after --, where - has no special meaning
	inName                       // in a name
	atName                       // after a slash
	oneDot                       // a name that consists of . so far
	twoDots                      // a name that consists of .. so far

	dash            // an option with one dash, which may have a value attached: -C.., -I/x
	inOption        // after the dash
	optionOneDot    // after the dash and a dot
	optionValueDots // after the dash and two or more dots

	schemeH // the letters of http and https at the beginning of a value
	schemeHT
	schemeHTT
	schemeHTTP
	schemeHTTPS
	schemeColon // http:
	schemeSlash // http:/

	urlAtName // a web URL is not an absolute path, but .. in it counts as in a path
	urlName
	urlOneDot
	urlTwoDots

	outside // a path outside of the workspace was found
)

// namesOutsidePath reports whether arg, scanned from the state p, names a path outside of the workspace. Such a path is
// absolute, begins with a home directory, or contains a .. element. Symbolic links are not resolved.
func namesOutsidePath(arg string, p scanState) bool {
	for _, r := range arg {
		p = p.next(r)
	}
	return p.end()
}

// end reports whether an argument that ends in the state p names a path outside of the workspace.
func (p scanState) end() bool {
	switch p {
	case outside, twoDots, optionValueDots, urlTwoDots, schemeSlash:
		return true
	}
	return false
}

// next returns the state after r.
func (p scanState) next(r rune) scanState {
	switch {
	case p == outside:
		return outside
	case p == schemeColon && r == '/':
		return schemeSlash
	case p == schemeSlash && r == '/':
		return urlAtName
	case p == schemeSlash:
		return outside
	case p >= urlAtName:
		return p.nextInURL(r)
	case p >= dash && p <= optionValueDots:
		return p.nextInOption(r)
	}
	begins := p == atValue || p == afterDashes || p == schemeColon
	switch {
	case isSlash(r) && (begins || p == twoDots), r == '~' && begins:
		return outside
	case isSlash(r):
		return atName
	case r == ':' && (p == schemeHTTP || p == schemeHTTPS):
		return schemeColon
	case separates(r) && p == twoDots:
		return outside
	case separates(r):
		return atValue
	case r == '.' && (begins || p == atName):
		return oneDot
	case r == '.' && p == oneDot:
		return twoDots
	case r == '-' && begins && p != afterDashes:
		return dash
	}
	return p.nextOfScheme(r, begins)
}

// nextOfScheme returns the state after r, which may be a letter of http or https.
func (p scanState) nextOfScheme(r rune, begins bool) scanState {
	switch {
	case r == 'h' && begins:
		return schemeH
	case r == 't' && (p == schemeH || p == schemeHT), r == 'p' && p == schemeHTT, r == 's' && p == schemeHTTP:
		return p + 1
	}
	return inName
}

// nextInOption returns the state after r in an option with one dash. Each letter there may be an
// option and the text after it the option's value.
func (p scanState) nextInOption(r rune) scanState {
	switch {
	case r == '-' && p == dash: // a long option: its value follows =
		return inName
	case isSlash(r), r == '~', separates(r) && p == optionValueDots:
		return outside
	case separates(r):
		return atValue
	case r == '.' && (p == optionOneDot || p == optionValueDots):
		return optionValueDots
	case r == '.':
		return optionOneDot
	}
	return inOption
}

// nextInURL returns the state after r in a URL that began with http:// or https://.
func (p scanState) nextInURL(r rune) scanState {
	over := strings.ContainsRune(` '"`, r)
	switch {
	case p == urlTwoDots && (over || isSlash(r)):
		return outside
	case over:
		return atValue
	case isSlash(r):
		return urlAtName
	case r == '.' && p == urlAtName:
		return urlOneDot
	case r == '.' && p == urlOneDot:
		return urlTwoDots
	}
	return urlName
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

// separates reports whether a value may begin after r. Characters of names and closing brackets do
// not separate.
func separates(r rune) bool {
	return r < 0x80 && !wordRune(r) && !strings.ContainsRune(`.-~^)]}/\`, r)
}

func wordRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
