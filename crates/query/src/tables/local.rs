//! Files of this machine, and standard input.

use super::TableFactory;
use super::infer::SampledInput;
use super::kind::{self, TableKind};
use crate::message;
use crate::scan::{OnceInput, OpenMode, RecordFile, external};
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, exec_datafusion_err, plan_datafusion_err, plan_err};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::{ObjectMeta, path::Path as ObjectPath};
use rorqual_columnar::RecordFormat;
use rorqual_columnar::limits::PREFIX_BYTES;
use rorqual_columnar::read::is_stream;
use rorqual_pipe::{FileGrowth, FileVersion, HeldFile, Input, reason};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl TableFactory {
    /// The table at a path.
    pub(super) async fn local(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        if name == "-" {
            self.known.take_inputs(&["/dev/stdin".into()]);
            return self.once(name, Path::new(name));
        }
        self.known.refuse_outside(name)?;
        let paths = paths(name)?;
        self.known.refuse_links(name, &paths)?;
        self.known.take_inputs(&paths);
        if let [path] = &paths[..]
            && !path.is_file()
        {
            return self.once(name, path);
        }
        // Before anything is read of them.
        let versions: Vec<FileVersion> =
            paths.iter().map(|path| FileVersion::of(path).map_err(external)).collect::<Result<_>>()?;
        let filled = paths.iter().zip(&versions).filter(|(_, version)| version.size_bytes() > 0);
        let filled: Vec<&PathBuf> = filled.map(|(path, _)| path).collect();
        let Some(first) = filled.first() else { return plan_err!("{name}: there is nothing in it to tell its columns by") };
        match self.kind_of(name, first)? {
            TableKind::Records(format) => {
                self.same_format(name, &filled, &format)?;
                let files = paths.iter().zip(versions).map(|(path, version)| file(path, version)).collect::<Result<_>>()?;
                self.records(
                    format,
                    ObjectStoreUrl::local_filesystem(),
                    files,
                    SampledInput::Files(filled.into_iter().cloned().collect()),
                )
            }
            TableKind::Arrow => {
                let held = paths.iter().zip(versions).filter(|(_, version)| version.size_bytes() > 0);
                self.arrow_files(&held.map(|(path, version)| (path.clone(), Some(version))).collect::<Vec<_>>())
            }
            columns => {
                let urls: Vec<ListingTableUrl> = paths.iter().map(|path| url(path)).collect::<Result<_>>()?;
                urls.iter().zip(versions).for_each(|(url, version)| self.context.held.hold(url.prefix(), version));
                self.columns(&columns, urls).await
            }
        }
    }

    /// The table of a stream that can be read once.
    fn once(&self, name: &str, path: &Path) -> Result<Arc<dyn TableProvider>> {
        if path.as_os_str() == "-" && std::io::stdin().is_terminal() {
            message::note(&"reading standard input, which is this terminal: Ctrl-D ends it");
        }
        let mut input = Input::open(path).map(Input::into_utf8).map_err(external)?;
        let held = held(&input)?;
        let head = self.context.scan(1).head(&mut input, PREFIX_BYTES).map_err(external)?;
        let kind = kind::of(name, input.name(), &head, &self.known)?;
        // Of a compressed one the bytes are others.
        let stored = input.read_ahead(PREFIX_BYTES, &self.context.stop()).map_err(external)?;
        if matches!(kind, TableKind::Arrow) && is_stream(&head.bytes) && (stored.is_empty() || is_stream(stored)) {
            return self.arrow_stream(input);
        }
        let format = self.not_columns(input.name(), kind)?;
        let name = input.name().to_owned();
        // A file that is standard input can be read at its places more than once.
        let looked = match input.file_again().map_err(external)? {
            Some(file) => SampledInput::File(Input::from_file(name, file).map_err(external)?),
            None => {
                let ahead = input.read_ahead(PREFIX_BYTES, &self.context.stop()).map_err(external)?.to_vec();
                SampledInput::Ahead(input.copy_of(ahead))
            }
        };
        let file = RecordFile { meta: meta(ObjectPath::from("-"), 0), place: OpenMode::Once(OnceInput::new(input, held)) };
        self.records(format, ObjectStoreUrl::local_filesystem(), vec![file], looked)
    }

    fn kind_of(&self, name: &str, path: &Path) -> Result<TableKind> {
        let mut input = Input::open(path).map(Input::into_utf8).map_err(external)?;
        let head = self.context.scan(1).head(&mut input, PREFIX_BYTES).map_err(external)?;
        kind::of(name, &path.to_string_lossy(), &head, &self.known)
    }

    /// Refuses files that are not of the format of the first, by which all are decoded.
    fn same_format(&self, name: &str, paths: &[&PathBuf], format: &RecordFormat) -> Result<()> {
        let expected = format!("{format:?}");
        for path in paths.iter().skip(1) {
            let same = matches!(self.kind_of(name, path)?, TableKind::Records(other) if format!("{other:?}") == expected);
            if !same {
                return plan_err!(
                    "{} has another format than {}, or other columns: name them in tables of their own",
                    path.display(),
                    paths[0].display()
                );
            }
        }
        Ok(())
    }
}

/// The files that a name stands for, in the order of their names.
fn paths(name: &str) -> Result<Vec<PathBuf>> {
    let path = Path::new(name);
    if path.is_dir() {
        return files_below(path);
    }
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    if !name.contains(['*', '?', '[']) {
        let cause = path.metadata().err().map_or_else(String::new, |cause| reason(&cause));
        return plan_err!("'{name}' is neither a table nor a file: {cause}");
    }
    let matches = glob::glob(name).map_err(|error| plan_datafusion_err!("{name:?}: {error}"))?;
    let mut paths = matches
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| exec_datafusion_err!("{}: {}", error.path().display(), reason(error.error())))?;
    paths.retain(|path| path.is_file());
    if paths.is_empty() { plan_err!("'{name}': no file has such a name") } else { Ok(paths) }
}

/// The files below a folder; hidden ones, and those that others mark as no data by an underscore,
/// are left out.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |cause| exec_datafusion_err!("{}: {}", folder.display(), reason(&cause));
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with(['.', '_']) {
                continue;
            }
            let is_folder = entry.file_type().map_err(failed)?.is_dir();
            if is_folder { folders.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files.retain(|path| path.is_file());
    files.sort();
    if files.is_empty() { plan_err!("'{}': it has no files", folder.display()) } else { Ok(files) }
}

/// Standard input that is a plain file, held to its present state: it is read more than once.
fn held(input: &Input) -> Result<Option<HeldFile>> {
    let Some(file) = input.file_again().map_err(external)? else { return Ok(None) };
    let name = input.name();
    let version = FileVersion::of_file(&file).map_err(|cause| exec_datafusion_err!("{name}: {}", reason(&cause)))?;
    // Lines may be added to it; others that are read to its end as they are found there.
    HeldFile::new(file, name, version, FileGrowth::Allowed).map(Some).map_err(external)
}

fn file(path: &Path, version: FileVersion) -> Result<RecordFile> {
    let input = Input::open(path).map(Input::into_utf8).map_err(external)?;
    // A name in plans: the file is opened by its path, which may have characters that no object's
    // has.
    let location = ObjectPath::from_absolute_path(absolute(path)?);
    let location = location.unwrap_or_else(|_| ObjectPath::from(path.to_string_lossy().as_ref()));
    let meta = meta(location, input.size_bytes().map_or(0, |size| size.min(version.size_bytes())));
    let place = OpenMode::Local { path: path.to_owned(), is_plain: input.is_file(), version: Some(version) };
    Ok(RecordFile { meta, place })
}

fn url(path: &Path) -> Result<ListingTableUrl> {
    let path = absolute(path)?;
    let url = url::Url::from_file_path(&path)
        .map_err(|()| plan_datafusion_err!("{}: can't be written as an address", path.display()))?;
    // Not parsed: a path that is there is no pattern, whatever characters it has.
    ListingTableUrl::try_new(url, None)
}

/// The path of a file without `..`, which an object's can't have: the folder before one may be a
/// link, so the system is asked. The file's own name stays.
fn absolute(path: &Path) -> Result<PathBuf> {
    let Some(name) = path.file_name() else { return plan_err!("{}: is a folder", path.display()) };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|cause| exec_datafusion_err!("{}: {}", path.display(), reason(&cause)))?;
    Ok(folder.join(name))
}

fn meta(location: ObjectPath, size: u64) -> ObjectMeta {
    ObjectMeta { location, last_modified: Default::default(), size, e_tag: None, version: None }
}
