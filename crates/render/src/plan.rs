//! A template as the emitter walks it: MiniJinja's parsed template with everything looked up that
//! can be.

use bytes::Bytes;
use minijinja::machinery::{Instructions, Span};
use minijinja::{AutoEscape, Environment, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A template, with those that it includes and extends.
pub(crate) struct TemplatePlan<'a> {
    pub(crate) env: &'a Environment<'a>,
    pub(crate) nodes: Vec<TemplateNode<'a>>,
    /// Variables that templates set, and loops, are known by numbers below these.
    pub(crate) slots: usize,
    pub(crate) loops: usize,
    pub(crate) no_blocks: BTreeMap<&'a str, Instructions<'a>>,
}

/// A part of a template.
pub(crate) enum TemplateNode<'a> {
    Raw(Bytes),
    Emit(Emit<'a>),
    If(Box<If<'a>>),
    For(Box<For<'a>>),
    Set(AssignTarget<'a>, Box<DelegatedCode<'a>>),
    /// Captures the output of its nodes in a variable, marked as safe or not.
    Capture(usize, bool, Vec<TemplateNode<'a>>),
    /// Nodes with variables of their own.
    Scope(Range<usize>, Vec<TemplateNode<'a>>),
    /// Run for its effect on others.
    Run(Box<DelegatedCode<'a>>),
    Break,
    Continue,
}

/// An expression that is written: by the short way, or else by MiniJinja, which also has the
/// message for a failure.
pub(crate) struct Emit<'a> {
    pub(crate) path: Option<(VarPath<'a>, EscapeMode)>,
    pub(crate) exact: Box<DelegatedCode<'a>>,
}

/// Escaping of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EscapeMode {
    /// None.
    Plain,
    /// None for a text; MiniJinja turns anything else into one.
    Safe,
    Html,
    Json,
}

/// A variable, and attributes of it.
pub(crate) struct VarPath<'a> {
    pub(crate) variable: Variable<'a>,
    pub(crate) attributes: Vec<&'a str>,
    /// The first attribute among the keys of the loop over rows whose row the variable is.
    pub(crate) key: Option<usize>,
}

/// Slots that may hold a name's value, the innermost scope first; after these the template's input.
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) places: Vec<VarSlot>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum VarSlot {
    Slot(usize),
    /// The loop itself: `loop`.
    Loop(usize),
}

pub(crate) struct If<'a> {
    pub(crate) condition: TemplateCondition<'a>,
    pub(crate) yes: Vec<TemplateNode<'a>>,
    pub(crate) no: Vec<TemplateNode<'a>>,
}

/// A condition: by the short way where it has one and that knows the answer, or else by MiniJinja.
pub(crate) struct TemplateCondition<'a> {
    pub(crate) short: Option<TemplateTest<'a>>,
    pub(crate) exact: Box<DelegatedCode<'a>>,
}

pub(crate) enum TemplateTest<'a> {
    Truth(VarPath<'a>),
    Compare(Operand<'a>, Comparison, Operand<'a>),
    Not(Box<TemplateTest<'a>>),
    And(Box<TemplateTest<'a>>, Box<TemplateTest<'a>>),
    Or(Box<TemplateTest<'a>>, Box<TemplateTest<'a>>),
}

pub(crate) enum Operand<'a> {
    Path(VarPath<'a>),
    Const(Value),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
}

/// Target of an assignment.
pub(crate) enum AssignTarget<'a> {
    Slot(usize),
    List(Vec<AssignTarget<'a>>, SourcePosition<'a>),
}

/// A place in a template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourcePosition<'a> {
    pub(crate) name: &'a str,
    pub(crate) source: &'a str,
    pub(crate) span: Span,
}

pub(crate) struct For<'a> {
    pub(crate) items: Items<'a>,
    pub(crate) target: AssignTarget<'a>,
    /// Variables of the body, the target among them: each iteration begins without them.
    pub(crate) slots: Range<usize>,
    /// Items that do not meet it are left out; variables of its own, the target among them.
    pub(crate) filter: Option<(Range<usize>, AssignTarget<'a>, TemplateCondition<'a>)>,
    pub(crate) body: Vec<TemplateNode<'a>>,
    pub(crate) otherwise: Vec<TemplateNode<'a>>,
    pub(crate) number: usize,
    /// Request for a part of a row.
    pub(crate) keys: Vec<&'a str>,
    pub(crate) uses: Uses,
}

/// Requests of a loop's body, as far as they decide how the loop runs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Uses {
    /// The target is named.
    pub(crate) target: bool,
    /// `loop` is named, in any way.
    pub(crate) number: bool,
    /// `loop.last` is.
    pub(crate) last: bool,
    /// Something goes from one iteration to a later one, or ends the loop.
    pub(crate) carries: bool,
}

pub(crate) enum Items<'a> {
    Rows,
    Value {
        value: Box<DelegatedCode<'a>>,
        /// Refuses a value that can't be looped over, with the reason.
        check: Box<DelegatedCode<'a>>,
    },
}

/// Work that is left to MiniJinja, with the variables that it names.
pub(crate) struct DelegatedCode<'a> {
    pub(crate) instructions: Instructions<'a>,
    pub(crate) names: Arc<[Box<str>]>,
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) escape: AutoEscape,
}
