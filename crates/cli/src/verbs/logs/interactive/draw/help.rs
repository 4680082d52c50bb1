//! All keys.

use super::{BOLD, DIM, PLAIN, ScreenCells};

/// Keys and their uses, for each screen; a key of nothing is a heading.
const KEYS: [(&str, &str); 22] = [
    ("", "Everywhere"),
    ("/  c  u", "filter or search text; clear all; undo (Backspace, too)"),
    ("L  e  f", "lines; explain the span; findings of the whole log"),
    ("y  ?  q  Q", "print the command at the end; this help; back or quit; quit"),
    ("", "Overview"),
    ("Tab h l ↑↓ j k", "panels and values (Shift-Tab goes back, PgUp PgDn by screens)"),
    ("Enter  x  s", "only this value, and again all; leave it out; its metrics"),
    ("← → < >", "cursor in time, by one column or ten; Home and End"),
    ("v  Shift ←→", "mark a span of time; Esc gives it up"),
    ("Enter", "zoom to the span"),
    ("", "Lines"),
    ("j k PgUp PgDn", "move; Space and b, Ctrl-D and Ctrl-U too; g first, G last"),
    ("/  n  N", "find a text (capitals count if there are any); next; previous"),
    ("Enter o", "all fields of the line"),
    ("t  C", "all lines within 30 s of it; all of the same client"),
    ("&  ← →  w", "filter; move the text; wrap long lines"),
    ("s  S  r", "sort: slowest first, largest first …; by a column; turn it round"),
    ("", "Fields of a line"),
    ("Enter  x", "only lines with this value; leave them out"),
    ("t  C  q", "as above; back to the lines"),
    ("", "Lists: Explain, findings, metrics, readings of a text"),
    ("Enter  s", "take its filter and span; the next metric"),
];

pub(super) fn draw(cells: &mut ScreenCells<'_>) {
    for (y, (keys, meaning)) in (0..).zip(KEYS.iter()) {
        if keys.is_empty() {
            cells.rest((0, y), meaning, BOLD);
        } else {
            cells.put((2, y), keys, PLAIN, 16);
            cells.rest((19, y), meaning, PLAIN);
        }
    }
    cells.rest((0, cells.height() - 1), "any key goes back", DIM);
}
