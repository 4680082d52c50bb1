//! Selection of the searched files: by their names, by globs, by git's rules.

use crate::args::{GrepArgs, NameGlob, Sort};
use globset::{Glob, GlobBuilder, GlobMatcher};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, Walk, WalkBuilder};
use rorqual_pipe::{Error, ErrorClass};
use rorqual_search::limits::{SORTED_ENTRY_BYTES, sort_bytes_max};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use walkdir::WalkDir;

/// Arguments that select files.
pub(crate) struct SelectionFlags {
    pub(crate) recursive: bool,
    follow: bool,
    sorted: bool,
    /// Entries of the folders on the way to a file that may be sorted.
    sorted_max: u64,
    max_depth: Option<usize>,
    gitignore: bool,
    names: Vec<(bool, GlobMatcher)>,
    folders: Arc<Vec<GlobMatcher>>,
    overrides: Override,
}

impl SelectionFlags {
    pub(crate) fn new(args: &GrepArgs, memory_bytes: u64) -> Result<Self, String> {
        let named = |NameGlob { include, glob }: &NameGlob| Ok((*include, matcher(glob)?));
        let names = args.names.0.iter().map(named).collect::<Result<_, String>>()?;
        let folder = |glob: &String| matcher(if glob.len() > 1 { glob.trim_end_matches('/') } else { glob });
        let folders = args.exclude_dir.iter().map(folder).collect::<Result<_, String>>()?;
        let mut overrides = OverrideBuilder::new(".");
        for glob in &args.globs {
            overrides.add(glob).map_err(|error| format!("-g {glob}: {error}"))?;
        }
        Ok(Self {
            recursive: args.recursive || args.dereference_recursive,
            follow: args.dereference_recursive,
            sorted: args.sort == Sort::Path,
            sorted_max: sort_bytes_max(memory_bytes) / SORTED_ENTRY_BYTES,
            max_depth: args.max_depth,
            gitignore: args.gitignore,
            names,
            folders: Arc::new(folders),
            overrides: overrides.build().map_err(|error| format!("-g: {error}"))?,
        })
    }

    /// True if a file or folder that was named is to be searched: globs may fit each end of its
    /// path that starts with a name.
    pub(crate) fn takes_operand(&self, path: &Path, is_folder: bool) -> bool {
        let bytes = path.as_os_str().as_bytes();
        let ends = || {
            let after = bytes.windows(2).enumerate().filter(|(_, pair)| pair[0] == b'/' && pair[1] != b'/');
            std::iter::once(0).chain(after.map(|(at, _)| at + 1)).map(|at| Path::new(std::ffi::OsStr::from_bytes(&bytes[at..])))
        };
        if is_folder {
            return !self.folders.iter().any(|glob| ends().any(|end| glob.is_match(trimmed(end))));
        }
        self.takes(|glob| ends().any(|end| glob.is_match(end)))
    }

    /// True if a file that was found is to be searched, by its name.
    pub(crate) fn takes_found(&self, path: &Path) -> bool {
        self.takes(|glob| path.file_name().is_some_and(|name| glob.is_match(Path::new(name))))
    }

    fn takes(&self, fits: impl Fn(&GlobMatcher) -> bool) -> bool {
        let last = self.names.iter().rev().find(|(_, glob)| fits(glob));
        last.map_or_else(|| self.names.first().is_none_or(|(include, _)| !include), |(include, _)| *include)
    }

    /// The files below a folder.
    pub(crate) fn walk(&self, folder: &Path) -> Result<Walk, Error> {
        let mut builder = WalkBuilder::new(folder);
        builder.standard_filters(false).overrides(self.overrides.clone()).follow_links(self.follow).max_depth(self.max_depth);
        if self.gitignore {
            builder.parents(true).ignore(true).git_ignore(true).git_global(true).git_exclude(true).require_git(false);
        }
        let (folders, no_repository) = (Arc::clone(&self.folders), self.gitignore);
        builder.filter_entry(move |entry| !(is_passed_over(entry, &folders) || no_repository && is_repository(entry)));
        if self.sorted {
            self.check_sortable(folder)?;
            builder.sort_by_file_name(std::ffi::OsStr::cmp);
        }
        Ok(builder.build())
    }

    /// Sorting holds what is in a folder, and in those that it lies in: counted before, without
    /// holding it.
    fn check_sortable(&self, folder: &Path) -> Result<(), Error> {
        let walk = WalkDir::new(folder).follow_links(self.follow).max_depth(self.max_depth.unwrap_or(usize::MAX));
        // Of each depth, how many the present folder has so far, and the largest had.
        let mut entries: Vec<(u64, u64)> = Vec::new();
        for entry in walk.into_iter().flatten() {
            let depth = entry.depth();
            entries.resize(entries.len().max(depth + 2), (0, 0));
            let (now, most) = &mut entries[depth];
            *now += 1;
            *most = (*most).max(*now);
            entries[depth + 1].0 = 0;
            let held: u64 = entries.iter().map(|(_, most)| most).sum();
            if held > self.sorted_max {
                let name = entry.path().parent().unwrap_or(folder).to_string_lossy().into_owned();
                let limit = self.sorted_max;
                return Err(Error::new(
                    ErrorClass::Limit,
                    name,
                    format!(
                        "--sort holds at most {limit} names at a time, an 8th of the memory (a larger --memory moves the limit)"
                    ),
                ));
            }
        }
        Ok(())
    }
}

fn is_passed_over(entry: &DirEntry, folders: &[GlobMatcher]) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    // The one that was named was asked for by its whole name.
    entry.depth() > 0 && is_folder && folders.iter().any(|glob| glob.is_match(Path::new(entry.file_name())))
}

/// True of git's own folder, or the file that names it, which git never lists.
fn is_repository(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name() == ".git"
}

/// A path without slashes at its end.
fn trimmed(path: &Path) -> &Path {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(bytes.len().min(1), |last| last + 1);
    Path::new(std::ffi::OsStr::from_bytes(&bytes[..end]))
}

/// A glob as of a shell that knows no paths: `*` may stand for anything.
fn matcher(glob: &str) -> Result<GlobMatcher, String> {
    let built: Result<Glob, _> = GlobBuilder::new(glob).literal_separator(false).backslash_escape(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| error.to_string())
}
