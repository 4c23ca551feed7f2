"""The character sets of Java by their names, as Python's codecs.

A character set is listed if Python's codec makes the bytes of every character that Java's makes, which a comparison of all characters up to
U+FFFF has shown. Names are those of ``Charset.forName``, in any case.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final

_SAME: Final = """\
gb2312 gb2312 euc-cn euc_cn euccn gb2312-1980 gb2312-80 x-euc-cn
cp858 ibm00858 858 ccsid00858 cp00858 cp858 ibm-858 ibm858 pc-multilingual-850+euro
cp437 ibm437 437 cp437 cspc8codepage437 ibm-437 windows-437
cp775 ibm775 775 cp775 ibm-775
cp850 ibm850 850 cp850 cspc850multilingual ibm-850
cp852 ibm852 852 cp852 cspcp852 ibm-852
cp855 ibm855 855 cp855 cspcp855 ibm-855
cp857 ibm857 857 cp857 csibm857 ibm-857
cp860 ibm860 860 cp860 csibm860 ibm-860
cp861 ibm861 861 cp-is cp861 csibm861 ibm-861
cp862 ibm862 862 cp862 csibm862 cspc862latinhebrew ibm-862
cp863 ibm863 863 cp863 csibm863 ibm-863
cp864 ibm864 864 cp864 csibm864 ibm-864
cp865 ibm865 865 cp865 csibm865 ibm-865
cp866 ibm866 866 cp866 csibm866 ibm-866
cp869 ibm869 869 cp-gr cp869 csibm869 ibm-869
iso8859-1 iso-8859-1 819 8859_1 cp819 csisolatin1 ibm-819 ibm819 iso-ir-100 iso8859-1 iso8859_1 iso_8859-1 iso_8859-1:1987
iso8859-1 iso_8859_1 l1 latin1
iso8859-13 iso-8859-13 8859_13 iso8859-13 iso8859_13 iso_8859-13
iso8859-15 iso-8859-15 8859_15 923 cp923 csiso885915 csisolatin0 csisolatin9 ibm-923 ibm923 iso8859-15 iso8859_15 iso8859_15_fdis
iso8859-15 iso_8859-15 l9 latin-9 latin0 latin9
iso8859-16 iso-8859-16 csiso885916 iso-ir-226 iso8859_16 iso_8859-16 iso_8859-16:2001 l10 latin10
iso8859-2 iso-8859-2 8859_2 912 cp912 csisolatin2 ibm-912 ibm912 iso-ir-101 iso8859-2 iso8859_2 iso_8859-2 iso_8859-2:1987 l2
iso8859-2 latin2
iso8859-3 iso-8859-3 8859_3 913 cp913 csisolatin3 ibm-913 ibm913 iso-ir-109 iso8859-3 iso8859_3 iso_8859-3 iso_8859-3:1988 l3
iso8859-3 latin3
iso8859-4 iso-8859-4 8859_4 914 cp914 csisolatin4 ibm-914 ibm914 iso-ir-110 iso8859-4 iso8859_4 iso_8859-4 iso_8859-4:1988 l4
iso8859-4 latin4
iso8859-5 iso-8859-5 8859_5 915 cp915 csisolatincyrillic cyrillic ibm-915 ibm915 iso-ir-144 iso8859-5 iso8859_5 iso_8859-5
iso8859-5 iso_8859-5:1988
iso8859-6 iso-8859-6 1089 8859_6 arabic asmo-708 cp1089 csisolatinarabic ecma-114 ibm-1089 ibm1089 iso-ir-127 iso8859-6 iso8859_6
iso8859-6 iso_8859-6 iso_8859-6:1987
iso8859-7 iso-8859-7 813 8859_7 cp813 csisolatingreek ecma-118 elot_928 greek greek8 ibm-813 ibm813 iso-ir-126 iso8859-7 iso8859_7
iso8859-7 iso_8859-7 iso_8859-7:1987 sun_eu_greek
iso8859-8 iso-8859-8 8859_8 916 cp916 csisolatinhebrew hebrew ibm-916 ibm916 iso-ir-138 iso8859-8 iso8859_8 iso_8859-8
iso8859-8 iso_8859-8:1988
iso8859-9 iso-8859-9 8859_9 920 cp920 csisolatin5 ibm-920 ibm920 iso-ir-148 iso8859-9 iso8859_9 iso_8859-9 iso_8859-9:1989 l5
iso8859-9 latin5
koi8-r koi8-r cskoi8r koi8 koi8_r
koi8-u koi8-u koi8_u
ascii us-ascii 646 ansi_x3.4-1968 ansi_x3.4-1986 ascii ascii7 cp367 csascii default ibm367 iso-ir-6 iso646-us iso_646.irv:1983
ascii iso_646.irv:1991 us
utf-16-be utf-16be iso-10646-ucs-2 unicodebigunmarked utf_16be x-utf-16be
utf-16-le utf-16le unicodelittleunmarked utf_16le x-utf-16le
utf-32-be utf-32be utf_32be x-utf-32be
utf-32-le utf-32le utf_32le x-utf-32le
utf-8 utf-8 unicode-1-1-utf-8 utf8
cp1250 windows-1250 cp1250 cp5346
cp1251 windows-1251 ansi-1251 cp1251 cp5347
cp1252 windows-1252 cp1252 cp5348 ibm-1252 ibm1252
cp1253 windows-1253 cp1253 cp5349
cp1254 windows-1254 cp1254 cp5350
cp1255 windows-1255 cp1255
cp1256 windows-1256 cp1256
cp1257 windows-1257 cp1257 cp5353
cp1258 windows-1258 cp1258
cp737 x-ibm737 737 cp737 ibm-737 ibm737
iso8859-11 x-iso-8859-11 iso-8859-11 iso8859_11
johab x-johab johab ksc5601-1992 ksc5601_1992 ms1361
mac-latin2 x-maccentraleurope maccentraleurope
mac-roman x-macroman macroman
"""
"""In each line a codec, and names that Java has for it."""
_BIG_ENDIAN_WITH_MARK: Final = ("utf-16", "utf_16", "utf16", "unicode", "unicodebig")
_BIG_ENDIAN: Final = ("utf-32", "utf_32", "utf32")
_CODECS: Final = {
    **{name: codec for codec, *names in map(str.split, _SAME.splitlines()) for name in names},
    **dict.fromkeys(_BIG_ENDIAN, "utf-32-be"),
}


def charset(name: str) -> Callable[[str], bytes] | None:
    """Return what ``String.getBytes`` does for the character set ``name``; None if it is unknown. A character that it lacks becomes "?"."""
    if name.lower() in _BIG_ENDIAN_WITH_MARK:
        return lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be") if text else b""
    codec = _CODECS.get(name.lower())
    return None if codec is None else lambda text: text.encode(codec, "replace")
