// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

// position is the state of a reader that looks for a path in an argument, one character
// after the other. It knows no program: a path may begin wherever a program could see the
// begin of a value, as in --opt=/x, -C.., @/x, file:/x and a,../b.
type position uint8

const (
	atValue   position = iota // a value begins, and may be an option
	atOperand                 // a value begins, behind a -- that makes - a character like others
	inName                    // in a name
	atName                    // behind a slash
	oneDot                    // a name that is . so far
	twoDots                   // a name that is .. so far

	dash           // an option with one dash, which may have a value attached: -C.., -I/x
	inOption       // behind the dash
	optionOneDot   // behind it and a dot
	optionManyDots // behind it and more of them

	schemeH // the letters of http and https, where a value begins
	schemeHT
	schemeHTT
	schemeHTTP
	schemeHTTPS
	schemeColon // http:
	schemeSlash // http:/

	urlAtName // a URL of the web is no absolute path, but its .. would be those of a path
	urlName
	urlOneDot
	urlTwoDots

	outside // a path outside of the workspace was found
)

// leaves reports whether arg, read from position p on, names a path outside of the
// workspace: an absolute one, one of a home directory, or one with a .. on its way. It says
// nothing about links.
func leaves(arg string, p position) bool {
	for _, r := range arg {
		p = p.next(r)
	}
	return p.end()
}

// end reports whether an argument that ends at p names a path outside.
func (p position) end() bool {
	switch p {
	case outside, twoDots, optionManyDots, urlTwoDots, schemeSlash:
		return true
	}
	return false
}

// next returns the position behind r.
func (p position) next(r rune) position {
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
	case p >= dash && p <= optionManyDots:
		return p.nextInOption(r)
	}
	begins := p == atValue || p == atOperand || p == schemeColon
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
	case r == '-' && begins && p != atOperand:
		return dash
	}
	return p.nextOfScheme(r, begins)
}

// nextOfScheme follows the letters of http and https.
func (p position) nextOfScheme(r rune, begins bool) position {
	switch {
	case r == 'h' && begins:
		return schemeH
	case r == 't' && (p == schemeH || p == schemeHT), r == 'p' && p == schemeHTT, r == 's' && p == schemeHTTP:
		return p + 1
	}
	return inName
}

// nextInOption is next behind one dash. Any letter there may be an option of its own, and what
// follows it its value.
func (p position) nextInOption(r rune) position {
	switch {
	case r == '-' && p == dash: // a long option: its value follows =
		return inName
	case isSlash(r), r == '~', separates(r) && p == optionManyDots:
		return outside
	case separates(r):
		return atValue
	case r == '.' && (p == optionOneDot || p == optionManyDots):
		return optionManyDots
	case r == '.':
		return optionOneDot
	}
	return inOption
}

// nextInURL is next behind http:// and https://.
func (p position) nextInURL(r rune) position {
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

// separates reports whether a value may begin behind r: all do but what names are made of and
// what closes a bracket.
func separates(r rune) bool {
	return r < 0x80 && !wordRune(r) && !strings.ContainsRune(`.-~^)]}/\`, r)
}

func wordRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
