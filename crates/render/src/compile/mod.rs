//! From MiniJinja's parsed templates to a plan, where everything in them is known.

mod expression;
mod scope;
mod statement;

use crate::error::RenderError;
use crate::limits::PLAN_TEXT_BYTES_MAX;
use crate::plan::{TemplateNode, TemplatePlan};
use minijinja::machinery::ast::{self, Stmt};
use minijinja::machinery::{get_compiled_template, parse};
use minijinja::{AutoEscape, Environment};
use scope::Scopes;
use std::collections::BTreeMap;

/// Templates in one another, of a plan; anything deeper is left to MiniJinja, which has a limit of
/// its own.
const INCLUDES_MAX: usize = 8;

/// The reason for which there is no plan.
pub(crate) enum NotCompilable {
    /// MiniJinja does it.
    Unknown,
    /// Nobody does it.
    Failed(RenderError),
}

impl From<minijinja::Error> for NotCompilable {
    fn from(error: minijinja::Error) -> Self {
        Self::Failed(error.into())
    }
}

type Result<T> = std::result::Result<T, NotCompilable>;

/// Escaping of a template, by its name.
pub(crate) type Escape = fn(&str) -> AutoEscape;

/// The plan of a template; `rows`: there are rows.
pub(crate) fn plan<'a>(env: &'a Environment<'a>, escape_of: Escape, name: &str, rows: bool) -> Result<TemplatePlan<'a>> {
    let template = TemplateText::find(env, name)?;
    let escape = escape_of(template.name);
    let mut compiler = TemplateCompiler {
        env,
        rows,
        scopes: Scopes::default(),
        raw: Vec::new(),
        template,
        escape_of,
        escape: escape.clone(),
        initial: escape,
        in_loop: false,
        depth: 0,
        nodes: 0,
        text_bytes: 0,
    };
    let nodes = compiler.template(&BTreeMap::new())?;
    let (slots, loops) = compiler.scopes.numbers();
    Ok(TemplatePlan { env, nodes, slots, loops, no_blocks: BTreeMap::new() })
}

/// A template's name and text.
#[derive(Debug, Clone, Copy)]
struct TemplateText<'a> {
    name: &'a str,
    source: &'a str,
}

impl<'a> TemplateText<'a> {
    fn find(env: &'a Environment<'a>, name: &str) -> std::result::Result<Self, minijinja::Error> {
        let template = env.get_template(name)?;
        let instructions = &get_compiled_template(&template).instructions;
        Ok(Self { name: instructions.name(), source: instructions.source() })
    }
}

/// The bodies of blocks by name, with the template that each is in.
type TemplateBlocks<'b, 'a> = BTreeMap<&'a str, (&'b ast::Block<'a>, TemplateText<'a>)>;

struct TemplateCompiler<'a> {
    env: &'a Environment<'a>,
    rows: bool,
    scopes: Scopes<'a>,
    /// Text that was met and is not a node yet.
    raw: Vec<u8>,
    template: TemplateText<'a>,
    escape_of: Escape,
    escape: AutoEscape,
    /// The mode that `{% autoescape true %}` goes back to.
    initial: AutoEscape,
    in_loop: bool,
    depth: usize,
    /// Made so far, and of so much text: includes multiply.
    nodes: usize,
    text_bytes: usize,
}

impl<'a> TemplateCompiler<'a> {
    /// The nodes of the current template. One that extends another is that other, with its blocks
    /// replaced.
    fn template(&mut self, replaced: &TemplateBlocks<'_, 'a>) -> Result<Vec<TemplateNode<'a>>> {
        let TemplateText { name, source } = self.template;
        self.text_bytes += source.len();
        if self.text_bytes > PLAN_TEXT_BYTES_MAX {
            return Err(NotCompilable::Unknown);
        }
        let parsed = parse(source, name, self.env.syntax().clone())?;
        let Stmt::Template(parsed) = &parsed else { return Err(NotCompilable::Unknown) };
        let mut parents = parsed.children.iter().filter_map(|child| match child {
            Stmt::Extends(extends) => Some(extends),
            _ => None,
        });
        let Some(parent) = parents.next() else { return self.nodes(&parsed.children, replaced) };
        // The blocks see all else that a template does which extends another.
        let plain = |child: &Stmt<'a>| matches!(child, Stmt::Extends(_) | Stmt::EmitRaw(_) | Stmt::Block(_));
        if parents.next().is_some() || !parsed.children.iter().all(plain) {
            return Err(NotCompilable::Unknown);
        }
        // Text before it is written.
        for before in parsed.children.iter().take_while(|child| !matches!(child, Stmt::Extends(_))) {
            let Stmt::EmitRaw(raw) = before else { return Err(NotCompilable::Unknown) };
            self.raw.extend_from_slice(raw.raw.as_bytes());
        }
        let mut blocks = replaced.clone();
        collect_blocks(&parsed.children, self.template, &mut blocks);
        self.template = self.other(&parent.name)?;
        self.deeper(|compiler| compiler.template(&blocks))
    }

    /// Another template, named by a constant.
    fn other(&self, name: &ast::Expr<'a>) -> Result<TemplateText<'a>> {
        let name = name.as_const().ok_or(NotCompilable::Unknown)?;
        // Whether it is there matters when it is used, which MiniJinja finds out.
        TemplateText::find(self.env, name.as_str().ok_or(NotCompilable::Unknown)?).map_err(|_| NotCompilable::Unknown)
    }

    fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == INCLUDES_MAX {
            return Err(NotCompilable::Unknown);
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }
}

/// All blocks of a template, those in others too; one that is there already comes from a template
/// that extends this one.
fn collect_blocks<'b, 'a>(nodes: &'b [Stmt<'a>], template: TemplateText<'a>, blocks: &mut TemplateBlocks<'b, 'a>) {
    for node in nodes {
        match node {
            Stmt::Block(block) => {
                blocks.entry(block.name).or_insert((&**block, template));
                collect_blocks(&block.body, template, blocks);
            }
            Stmt::ForLoop(inner) => {
                collect_blocks(&inner.body, template, blocks);
                collect_blocks(&inner.else_body, template, blocks);
            }
            Stmt::IfCond(inner) => {
                collect_blocks(&inner.true_body, template, blocks);
                collect_blocks(&inner.false_body, template, blocks);
            }
            Stmt::WithBlock(inner) => collect_blocks(&inner.body, template, blocks),
            Stmt::SetBlock(inner) => collect_blocks(&inner.body, template, blocks),
            Stmt::AutoEscape(inner) => collect_blocks(&inner.body, template, blocks),
            _ => {}
        }
    }
}
