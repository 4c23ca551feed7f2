"""Names of time zones that ``SimpleDateFormat`` reads in the locale ``en``, with the offsets that they stand for today.

Source: ``DateFormatSymbols.getZoneStrings`` and ``TimeZone`` of Java 17, in the zone UTC. Several zones have the same name; Java takes the
first of its list. A name that begins with another one is left out where Java reads only that one.
"""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    -660: "NUST, NUT, Niue Summer Time, Niue Time, SDT, SST, Samoa Daylight Time, Samoa Standard Time",
    -600: (
        "CKHST, CKT, Cook Islands Half Summer Time, Cook Islands Standard Time, HAST, HDT, HST, Hawaii Standard Time, Hawaii-Aleutian "
        "Daylight Time, Hawaii-Aleutian Standard Time, TAHST, TAHT, Tahiti Summer Time, Tahiti Time"
    ),
    -570: "MARST, MART, Marquesas Summer Time, Marquesas Time",
    -540: "AKST, Alaska Standard Time, GAMST, GAMT, Gambier Summer Time, Gambier Time, HADT",
    -480: "AKDT, Alaska Daylight Time, Northwest Mexico Standard Time, PST, Pacific Standard Time, Pitcairn Daylight Time, Pitcairn Time",
    -420: (
        "MST, Mexican Pacific Daylight Time, Mexican Pacific Standard Time, Mountain Standard Time, Northwest Mexico Daylight Time, "
        "PDT, Pacific Daylight Time"
    ),
    -360: "CST, Central Standard Time, GALST, GALT, Galapagos Summer Time, Galapagos Time, MDT, Mountain Daylight Time",
    -300: (
        "ACT, Acre Standard Time, Acre Summer Time, CDT, COST, COT, Central Daylight Time, Colombia Standard Time, Colombia Summer "
        "Time, Cuba Standard Time, EASST, ECST, ECT, EST, Eastern Standard Time, Ecuador Summer Time, Ecuador Time, PEST, PET, Peru "
        "Standard Time, Peru Summer Time"
    ),
    -240: (
        "AST, Amazon Standard Time, Amazon Summer Time, Atlantic Standard Time, BOST, BOT, Bolivia Summer Time, Bolivia Time, CLT, "
        "Chile Standard Time, Cuba Daylight Time, EDT, Eastern Daylight Time, GYST, GYT, Guyana Summer Time, Guyana Time, VEST, VET, "
        "Venezuela Summer Time, Venezuela Time"
    ),
    -210: "NST, Newfoundland Standard Time",
    -180: (
        "ADT, ARST, ART, Argentina Standard Time, Argentina Summer Time, Argentine Summer Time, Argentine Time, Atlantic Daylight "
        "Time, BRST, BRT, Brasilia Standard Time, Brasilia Summer Time, CLST, Chile Summer Time, Chile Time, Coyhaique Daylight Time, "
        "Coyhaique Standard Time, FKST, FKT, Falkland Islands Standard Time, Falkland Islands Summer Time, French Guiana Summer Time, "
        "French Guiana Time, GFST, GFT, PMST, PYST, PYT, Paraguay Standard Time, Paraguay Summer Time, Punta Arenas Standard Time, "
        "ROTST, ROTT, Rothera Summer Time, Rothera Time, SRST, SRT, St. Pierre & Miquelon Standard Time, Suriname Summer Time, "
        "Suriname Time, UYST, UYT, Uruguay Standard Time, Uruguay Summer Time"
    ),
    -150: "NDT, Newfoundland Daylight Time",
    -120: (
        "EGT, FNST, FNT, Fernando de Noronha Standard Time, Fernando de Noronha Summer Time, PMDT, South Georgia Daylight Time, South "
        "Georgia Time, St. Pierre & Miquelon Daylight Time, WGT"
    ),
    -60: "AZOT, Azores Standard Time, CVST, CVT, Cape Verde Standard Time, Cape Verde Summer Time, EGST, WGST",
    0: (
        "AZOST, Azores Summer Time, Coordinated Universal Time, GHST, Ghana Summer Time, Greenwich Mean Time, UTC, WET, Western "
        "European Standard Time"
    ),
    60: (
        "BST, British Summer Time, CET, Central European Standard Time, Central European Time, Irish Standard Time, MET, Middle Europe "
        "Time, WAST, WAT, WEST, Western European Summer Time"
    ),
    120: (
        "CAST, CAT, CEST, Central Africa Time, Central African Summer Time, Central European Summer Time, EET, Eastern European "
        "Standard Time, IST, Israel Standard Time, MEST, Middle Europe Summer Time, SAST, South Africa Standard Time, South Africa "
        "Summer Time"
    ),
    180: (
        "Arabian Daylight Time, Arabian Standard Time, EAST, EAT, EEST, East Africa Time, Eastern African Summer Time, Eastern "
        "European Summer Time, IDT, Israel Daylight Time, MSD, MSK, Moscow Daylight Time, Moscow Standard Time, Moscow Summer Time, "
        "SYOST, SYOT, Syowa Summer Time, Syowa Time, TRST, TRT, Turkey Summer Time, Turkey Time, Volgograd Standard Time, Volgograd "
        "Summer Time"
    ),
    210: "IRDT, IRST, Iran Daylight Time, Iran Standard Time",
    240: (
        "AMST, AMT, AZST, AZT, Armenia Standard Time, Armenia Summer Time, Azerbaijan Standard Time, Azerbaijan Summer Time, GDT, "
        "GEST, GET, GST, Georgia Standard Time, Georgia Summer Time, Gulf Daylight Time, Gulf Standard Time, MUST, MUT, Mauritius "
        "Standard Time, Mauritius Summer Time, REST, RET, Reunion Summer Time, Réunion Time, SAMST, SAMT, SCST, SCT, Samara Standard "
        "Time, Samara Summer Time, Saratov Standard Time, Seychelles Summer Time, Seychelles Time, Ulyanovsk Standard Time"
    ),
    270: "AFST, AFT, Afghanistan Summer Time, Afghanistan Time",
    300: (
        "ALMST, ALMT, AQTST, AQTT, Alma-Ata Summer Time, Aqtau Summer Time, Aqtobe Summer Time, Atyrau Daylight Time, French Southern "
        "& Antarctic Lands Summer Time, French Southern & Antarctic Time, Kostanay Summer Time, MAWST, MAWT, MVST, MVT, Maldives "
        "Summer Time, Maldives Time, Mawson Summer Time, Mawson Time, ORAST, ORAT, Oral Summer Time, PKST, PKT, Pakistan Standard "
        "Time, Pakistan Summer Time, QOSST, QOST, QYZST, QYZT, Qyzylorda Summer Time, TFST, TFT, TJST, TJT, TMST, TMT, Tajikistan "
        "Summer Time, Tajikistan Time, Turkmenistan Standard Time, Turkmenistan Summer Time, UZST, UZT, Uzbekistan Standard Time, "
        "Uzbekistan Summer Time, VOSST, VOST, Vostok Time, YEKST, YEKT, Yekaterinburg Standard Time, Yekaterinburg Summer Time"
    ),
    330: "India Daylight Time, India Standard Time",
    345: "NPST, NPT, Nepal Summer Time, Nepal Time",
    360: (
        "BDST, BDT, BTST, BTT, Bangladesh Standard Time, Bangladesh Summer Time, Bhutan Summer Time, Bhutan Time, IOST, IOT, Indian "
        "Ocean Territory Summer Time, Indian Ocean Time, KGST, KGT, Kirgizstan Summer Time, Kyrgyzstan Time, OMSST, OMST, Omsk "
        "Standard Time, Omsk Summer Time, XJDT, XJT, Xinjiang Daylight Time, Xinjiang Standard Time"
    ),
    390: "CCST, CCT, Cocos Islands Summer Time, Cocos Islands Time, MMST, MMT, Myanmar Summer Time, Myanmar Time",
    420: (
        "Barnaul Daylight Time, Barnaul Standard Time, CXST, CXT, Christmas Island Summer Time, Christmas Island Time, DAVST, DAVT, "
        "Davis Summer Time, Davis Time, HOVST, HOVT, Hovd Standard Time, Hovd Summer Time, ICST, ICT, Indochina Summer Time, Indochina "
        "Time, KRAST, KRAT, Krasnoyarsk Standard Time, Krasnoyarsk Summer Time, NOVST, NOVT, Novosibirsk Standard Time, Novosibirsk "
        "Summer Time, Tomsk Daylight Time, Tomsk Standard Time, WIB, WIST"
    ),
    480: (
        "AWDT, AWST, Australian Western Daylight Time, Australian Western Standard Time, BNST, BNT, Brunei Darussalam Time, Brunei "
        "Summer Time, CHOST, CHOT, CIST, Casey Time, Central Indonesia Summer Time, Central Indonesia Time, China Daylight Time, China "
        "Standard Time, HKST, HKT, Hong Kong Standard Time, Hong Kong Summer Time, IRKST, IRKT, Irkutsk Standard Time, Irkutsk Summer "
        "Time, MYST, MYT, Malaysia Summer Time, Malaysia Time, Philippine Standard Time, Philippine Summer Time, SGST, SGT, Singapore "
        "Standard Time, Singapore Summer Time, Taipei Daylight Time, Taipei Standard Time, ULAST, ULAT, Ulaanbaatar Standard Time, "
        "Ulaanbaatar Summer Time"
    ),
    525: "ACWDT, ACWST, Australian Central Western Daylight Time, Australian Central Western Standard Time",
    540: (
        "EIST, JDT, JST, Japan Daylight Time, Japan Standard Time, KDT, KST, Korean Daylight Time, Korean Standard Time, PWST, PWT, "
        "Palau Summer Time, Palau Time, TLST, TLT, Timor-Leste Summer Time, WIT, YAKST, YAKT, Yakutsk Standard Time, Yakutsk Summer "
        "Time"
    ),
    570: "ACDT, ACST, Australian Central Daylight Time, Australian Central Standard Time",
    600: (
        "AEST, Australian Eastern Standard Time, CHUST, CHUT, ChDT, ChST, Chamorro Daylight Time, Chamorro Standard Time, Chuuk Summer "
        "Time, Chuuk Time, DDUST, DDUT, Dumont-d'Urville Summer Time, Dumont-d\u2019Urville Time, PGST, PGT, Papua New Guinea Summer Time, "
        "Papua New Guinea Time, VLAST, VLAT, Vladivostok Standard Time, Vladivostok Summer Time"
    ),
    630: "LHST, Lord Howe Standard Time",
    660: (
        "AEDT, Australian Eastern Daylight Time, Bougainville Daylight Time, Bougainville Standard Time, KOSST, KOST, Kosrae Summer "
        "Time, Kosrae Time, LHDT, Lord Howe Daylight Time, MAGST, MAGT, Magadan Standard Time, Magadan Summer Time, NCST, NCT, NFT, "
        "New Caledonia Standard Time, New Caledonia Summer Time, Norfolk Island Standard Time, PONST, PONT, Pohnpei Summer Time, "
        "Ponape Time, SAKST, SAKT, SBST, SBT, SREDT, SRET, Sakhalin Standard Time, Sakhalin Summer Time, Solomon Is. Summer Time, "
        "Solomon Islands Time, Srednekolymsk Daylight Time, Srednekolymsk Time, VUST, VUT, Vanuatu Standard Time, Vanuatu Summer Time"
    ),
    720: (
        "ANAST, ANAT, Anadyr Standard Time, Anadyr Summer Time, FJST, FJT, Fiji Standard Time, Fiji Summer Time, GILST, GILT, Gilbert "
        "Is. Summer Time, Gilbert Islands Time, MHST, MHT, Marshall Islands Summer Time, Marshall Islands Time, NFST, NRST, NRT, NZST, "
        "Nauru Summer Time, Nauru Time, New Zealand Standard Time, Norfolk Island Daylight Time, TVST, TVT, Tuvalu Summer Time, Tuvalu "
        "Time, WAKST, WAKT, WFST, WFT, Wake Island Time, Wake Summer Time, Wallis & Futuna Summer Time, Wallis & Futuna Time"
    ),
    765: "CHAST, Chatham Standard Time",
    780: (
        "Apia Daylight Time, Apia Standard Time, Kanton Daylight Time, Kanton Standard Time, NZDT, New Zealand Daylight Time, PHOST, "
        "PHOT, Phoenix Is. Summer Time, Phoenix Islands Time, TKST, TKT, TOST, TOT, Tokelau Summer Time, Tokelau Time, Tonga Standard "
        "Time, Tonga Summer Time, WSDT, WSST"
    ),
    825: "CHADT, Chatham Daylight Time",
    840: "LINST, LINT, Line Is. Summer Time, Line Islands Time",
}
"""Offset in minutes → names."""
OFFSETS: Final = {name.lower(): minutes * 60_000 for minutes, names in _NAMES.items() for name in names.split(", ")}
"""Name in small letters → offset in ms."""
