//! The manual pages: one with a section for every verb, and one for each of them.

use clap::Command;
use clap_mangen::Man;
use std::io;

/// The whole page in roff.
///
/// # Errors
/// Never, as it is written to memory.
pub(crate) fn page(program: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(program.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    for verb in program.get_subcommands() {
        page.extend(section(program.get_name(), verb)?);
    }
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// The page of one verb, with the flags of every verb.
///
/// # Errors
/// As [`page`].
pub(crate) fn verb_page(program: &Command, verb: &Command) -> io::Result<Vec<u8>> {
    let name = format!("{}-{}", program.get_name(), verb.get_name());
    let title = Man::new(verb.clone().display_name(name));
    let mut page = Vec::new();
    title.render_title(&mut page)?;
    title.render_name_section(&mut page)?;
    page.extend(section(program.get_name(), verb)?);
    Man::new(program.clone()).render_options_section(&mut page)?;
    Ok(page)
}

/// The section of a verb; flags of every verb are told once, above.
fn section(program: &str, verb: &Command) -> io::Result<Vec<u8>> {
    let name = format!("{program} {}", verb.get_name());
    let man = Man::new(verb.clone().bin_name(&name).disable_help_flag(true));
    let mut parts = Vec::new();
    man.render_synopsis_section(&mut parts)?;
    man.render_description_section(&mut parts)?;
    if verb.get_arguments().next().is_some() {
        man.render_options_section(&mut parts)?;
    }
    if verb.get_after_help().is_some() {
        man.render_extra_section(&mut parts)?;
    }
    let text = String::from_utf8_lossy(&parts)
        .replace("\n.SH ", "\n.SS ")
        .replace(".SS EXTRA", ".SS EXAMPLES")
        .replace("\nExamples:\n", "\n");
    let text = text.strip_prefix(".SH ").map_or(text.clone(), |rest| format!(".SS {rest}"));
    let mut whole = format!(".SH \"{}\"\n{text}", name.to_uppercase()).into_bytes();
    for verb in verb.get_subcommands() {
        whole.extend(section(&name, verb)?);
    }
    Ok(whole)
}
