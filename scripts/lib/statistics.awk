# SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
# What a program in awk takes in front of its own text. A list is its numbers with blanks between.

function median(list,   at, n, i, j, t) {
	n = split(list, at, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && at[j] + 0 < at[j - 1] + 0; j--) { t = at[j]; at[j] = at[j - 1]; at[j - 1] = t }
	return n % 2 ? at[(n + 1) / 2] : (at[n / 2] + at[n / 2 + 1]) / 2
}

# spread LIST, UNIT, FORMAT : the least and the most, in units, as text; nothing of an empty list.
function spread(list, unit, format,   at, n, i, least, most) {
	n = split(list, at, " ")
	if (!n) return ""
	least = most = at[1]
	for (i in at) {
		if (at[i] + 0 < least + 0) least = at[i]
		if (at[i] + 0 > most + 0) most = at[i]
	}
	return sprintf(format " to " format, least / unit, most / unit)
}
