#!/usr/bin/env python3
"""Writes Sources/Store/Search/FoldingTable.swift: which letters a search takes for the same.

Everything comes from the Unicode Character Database that Python has (`unicodedata`), but for EXTRA. Run it with another
Python to take another version of Unicode; the index is built again then.
"""
import unicodedata as u

# Letters that people type without the sign in them, or as two. The database does not say so.
EXTRA = {'đ': 'd', 'ð': 'd', 'ħ': 'h', 'ı': 'i', 'ł': 'l', 'ŋ': 'n', 'ø': 'o', 'ŧ': 't', 'þ': 'th', 'æ': 'ae', 'œ': 'oe',
         'ـ': '', 'ٱ': 'ا'}
VOICED = {0x3099, 0x309A}
# Marks that people leave out: overlays, nuktas, points of Hebrew, Arabic and Syriac, tone marks of Thai and Lao, and all that
# stand above, below or attached. Not viramas, nor the vowel signs that have a combining class.
MARKS = {1, 6, 7, *range(10, 37), 107, 122, *range(200, 256)}
# What is not seen: soft hyphens, joiners, directions, variants of emoji, and signs that enclose a letter.
IGNORED = [0xAD, 0x34F, 0x488, 0x489, 0x1ABE, *range(0x20DD, 0x20E5), 0x61C, *range(0x180B, 0x180F), *range(0x200C, 0x2010), *range(0x202A, 0x202F),
           *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), 0xFEFF, *range(0xE0100, 0xE01F0)]


def isKana(text):
    return any(ord(c) in VOICED for c in u.normalize('NFD', text))


def folded(code):
    c = chr(code)
    if code in IGNORED:
        return ''
    # Those are put together again, and not taken apart (`Folding`).
    if isKana(c) or 0xAC00 <= code <= 0xD7A3:
        return c
    kind = u.decomposition(c).split(' ')[0]
    if kind in ('<wide>', '<narrow>') and u.category(c)[0] in 'LNM':
        c = chr(int(u.decomposition(c).split(' ')[1], 16))
    while True:
        plain = ''.join(p for p in u.normalize('NFD', c) if u.combining(p) not in MARKS)
        # Only what has two cases: Cherokee's small letters would become large ones.
        plain = u.normalize('NFD', ''.join(EXTRA.get(p, p) for p in plain.casefold()))
        if plain == c:
            return c
        c = plain


def table():
    words, expected = [], None
    for code in range(0x80, 0xE01F0):
        if 0xD800 <= code < 0xE000 or u.category(chr(code)) == 'Cn':
            continue
        new = folded(code)
        if new == chr(code):
            continue
        gap = code - expected if expected is not None else 99
        if 0 <= gap <= 3:
            words += ['='] * gap
        else:
            words.append(f'@{code:X}')
        if not new and words[-1][0] == '-':
            words[-1] = f'-{int(words[-1][1:] or 1) + 1}'
        else:
            words.append('=' + new if new[:1] == '=' else new or '-')
        expected = code + 1
    return words


def pairs(mark):
    found = ''
    for code in range(0x3041, 0x3100):
        parts = u.normalize('NFD', chr(code))
        if len(parts) == 2 and ord(parts[1]) == mark:
            found += parts[0] + chr(code)
    return found.replace('カガ', '\\\n        カガ')


lines, line = [], ''
for word in table():
    if line and len(line) + len(word) >= 110:
        lines.append(line)
        line = ''
    line += (' ' if line else '') + word
lines.append(line)
escaped = '\n'.join('        ' + ''.join(c if c.isprintable() and not u.category(c).startswith('M') else f'\\u{{{ord(c):X}}}'
                                        for c in l) for l in lines)
print(f'''// Written by Tools/folding.py from Unicode {u.unidata_version}. Change that, and not this.
extension Folding {{
    /// Another one makes the daemon build the index again.
    static let version = "1, Unicode {u.unidata_version}"

    /// `@` and the first of some code points in a row, with what each becomes: `=` for itself, `-` for nothing, `-40` for
    /// forty that become nothing, `==` for an equals sign.
    static let table = """
{escaped}
        """

    /// A letter, and the letter with U+3099, U+309A after it.
    static let voiced = """
        {pairs(0x3099)}
        """
    static let halfVoiced = "{pairs(0x309A)}"
}}''')
