//! Templates by name, and their input.

use crate::chains;
use crate::compile::{self, Escape, NotCompilable};
use crate::emit::{self, RenderInput};
use crate::error::RenderError;
use crate::folder::{self, TemplateFolder};
use crate::limits::{DEPTH_MAX, TEMPLATES_BYTES_MAX};
use crate::objects::{AllRows, Range, RenderStop, Root};
use crate::rows::Source;
use crate::vm::{self, cause};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, default_auto_escape_callback};
use rorqual_pipe::Control;
use rorqual_pipe::Sink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Templates that know one another by name.
#[derive(Debug)]
pub struct Templates {
    env: Environment<'static>,
    folder: Option<Arc<TemplateFolder>>,
    escape: Escape,
}

/// Escaping of a template, by its extension: MiniJinja's rules, and SVG, which a browser runs as it
/// runs HTML.
fn by_extension(name: &str) -> AutoEscape {
    let bare = [".j2", ".jinja2", ".jinja"].iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(name);
    if bare.ends_with(".svg") || bare.ends_with(".xhtml") { AutoEscape::Html } else { default_auto_escape_callback(name) }
}

/// Input of a template.
#[derive(Debug, Clone, Default)]
pub struct PageInput {
    /// Variables of the template: a map.
    pub context: Value,
    /// The value of `rows`.
    pub rows: Option<Arc<dyn Source>>,
    /// The stop of the rendering.
    pub control: Control,
}

/// Renderer of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderedBy {
    /// Our emitter: it has short ways for all that the template does.
    Emitter,
    /// MiniJinja: it has macros, imports, recursive loops, `super()`, or names of templates that
    /// are worked out.
    MiniJinja,
}

impl Templates {
    /// No templates yet. A name without a value is an error, unless `lenient`: then it is empty.
    #[must_use]
    pub fn new(lenient: bool) -> Self {
        let mut env = Environment::new();
        env.set_undefined_behavior(if lenient { UndefinedBehavior::Lenient } else { UndefinedBehavior::Strict });
        env.set_recursion_limit(DEPTH_MAX);
        // Errors know their line and column.
        env.set_debug(true);
        env.add_function("range", Range::value);
        env.set_auto_escape_callback(by_extension);
        Self { env, folder: None, escape: by_extension }
    }

    /// The templates below a folder; read when they are first named.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn in_folder(path: &Path, lenient: bool) -> Result<Self, RenderError> {
        let mut templates = Self::new(lenient);
        let folder = Arc::new(TemplateFolder::new(path)?);
        templates.folder = Some(Arc::clone(&folder));
        templates.env.set_loader(move |name| match folder.read(name)? {
            Some(text) => chains::check(name, &text).map(|()| Some(text)),
            None => Ok(None),
        });
        Ok(templates)
    }

    /// The files below the folder that were read so far.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.folder.as_ref().map(|folder| folder.files()).unwrap_or_default()
    }

    /// Says by its name how a template that is added or read from now on is escaped, which else its
    /// extension says.
    pub fn escape_by(&mut self, escape: fn(&str) -> AutoEscape) {
        self.env.set_auto_escape_callback(escape);
        self.escape = escape;
    }

    /// Adds a template; its extension says how it is escaped.
    ///
    /// # Errors
    /// When it is no template.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), RenderError> {
        chains::check(name, text)?;
        Ok(self.env.add_template_owned(name.to_owned(), text.to_owned())?)
    }

    /// Adds a template from a file, whatever folder it is in.
    ///
    /// # Errors
    /// When it can't be read, is too long, or no template.
    pub fn add_file(&mut self, name: &str, path: &Path) -> Result<(), RenderError> {
        self.add(name, &folder::read(path, name, TEMPLATES_BYTES_MAX)?)
    }

    /// Gives a value a name in every template.
    pub fn add_global(&mut self, name: &str, value: Value) {
        self.env.add_global(name.to_owned(), value);
    }

    /// Renders a template into a sink, which is left to be flushed.
    ///
    /// # Errors
    /// When the template, the rows or the sink fail; the sink has all that came before.
    pub fn render<S: Sink>(&self, name: &str, page: &PageInput, sink: &mut S) -> Result<RenderedBy, RenderError> {
        let failed = Arc::default();
        let root = page.root(&failed);
        let plan = match compile::plan(&self.env, self.escape, name, page.rows.is_some()) {
            Ok(plan) => plan,
            Err(NotCompilable::Failed(error)) => return Err(error),
            Err(NotCompilable::Unknown) => {
                let rendered = vm::render(&self.env, name, root, &failed, &page.control, sink);
                return page.ended(rendered).map(|()| RenderedBy::MiniJinja);
            }
        };
        let given = RenderInput { source: page.rows.as_ref(), control: &page.control, root: &root };
        let rendered = emit::render(&plan, &given, sink).map_err(|error| cause(error, &failed));
        page.ended(rendered).map(|()| RenderedBy::Emitter)
    }

    /// The same as [`Templates::render`], by MiniJinja alone: the reference for the emitter.
    ///
    /// # Errors
    /// As [`Templates::render`].
    pub fn render_by_minijinja<S: Sink>(&self, name: &str, page: &PageInput, sink: &mut S) -> Result<(), RenderError> {
        let failed = Arc::default();
        page.ended(vm::render(&self.env, name, page.root(&failed), &failed, &page.control, sink))
    }
}

impl PageInput {
    /// The object in which names are looked up.
    fn root(&self, failed: &Arc<Mutex<Option<RenderError>>>) -> Value {
        let rows = self.rows.as_ref().map(|source| {
            let (source, control, failed) = (Arc::clone(source), self.control.clone(), Arc::clone(failed));
            Value::from_object(AllRows { source, control, failed })
        });
        let stop = Value::from_object(RenderStop(self.control.clone()));
        Value::from_object(Root { context: self.context.clone(), rows, stop })
    }

    /// A stopped rendering is not whole, whatever a template made of the range that ended early.
    fn ended(&self, rendered: Result<(), RenderError>) -> Result<(), RenderError> {
        match rendered {
            Ok(()) | Err(RenderError::Template(_)) if self.control.stopped() => Err(RenderError::stopped()),
            rendered => rendered,
        }
    }
}
