//! Pages of `docs/` beside `--help`.

use crate::common::rorqual;
use std::collections::BTreeSet;
use std::fs;

const PAGES: [(&str, &[&str]); 6] = [
    ("convert", &["convert", "schema", "get", "head", "sample", "summary"]),
    ("grep", &["grep", "count"]),
    ("hash-fetch-store", &["hash", "fetch", "store"]),
    ("logs", &["logs"]),
    ("render", &["render"]),
    ("serve", &["serve"]),
];

/// Flags that a `--help` lists: those of every verb are below a heading of their own.
fn helped(args: &[&str]) -> (BTreeSet<String>, BTreeSet<String>) {
    let said = String::from_utf8(rorqual(args).run().exits(0).stdout.clone()).expect("text");
    let (own, common) = said.split_once("Flags of every verb:").expect("flags of every verb");
    // The text of a flag is further in.
    let outer = |text: &str| flags(text.lines().filter(|line| line.len() - line.trim_start().len() <= 6));
    (outer(own), outer(common))
}

/// Flags with which texts begin: `-c, --count`, `--file <FILE>`, `-I`.
fn flags<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let names = texts.map(str::trim_start).filter(|line| line.starts_with('-')).flat_map(|line| {
        let named = line.split("  ").next().unwrap_or_default().split(", ");
        named.map(|flag| flag.split(['=', ' ', '[', '<']).next().unwrap_or_default().to_owned())
    });
    names.filter(|flag| flag != "--help" && flag.len() > 1).collect()
}

/// Flags in the first column of the table below a heading.
fn told(page: &str, heading: &str) -> BTreeSet<String> {
    let section = page.split_once(&format!("### {heading}\n")).unwrap_or_else(|| panic!("no {heading}")).1;
    let section = section.split("\n#").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `-"));
    let cells = rows.map(|row| format!("`-{}", row.replace("\\|", "/").split('|').next().unwrap_or_default()));
    cells.flat_map(|cell| flags(cell.split('`'))).collect()
}

#[test]
fn the_tables_of_flags_are_those_of_help() {
    let read = |name: &str| {
        let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    let mut common = BTreeSet::new();
    for (page, verbs) in PAGES {
        let page = read(page);
        for verb in verbs {
            let (own, others) = helped(&[verb, "--help"]);
            // `-h` is a flag of grep alone; everywhere else it is help.
            let own: BTreeSet<String> = own.into_iter().filter(|flag| flag != "-h" || *verb == "grep").collect();
            assert_eq!(told(&page, &format!("Flags of `rorqual {verb}`")), own, "{verb}");
            common = others;
        }
    }
    assert_eq!(told(&read("scripts"), "Flags of every verb"), common);
}
