//! A template as the emitter walks it: MiniJinja's parsed template with everything looked up that can be.

use bytes::Bytes;
use minijinja::machinery::{Instructions, Span};
use minijinja::{AutoEscape, Environment, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A template, with those that it includes and extends.
pub(crate) struct Plan<'a> {
    pub(crate) env: &'a Environment<'a>,
    pub(crate) nodes: Vec<Node<'a>>,
    /// Variables that templates set, and loops, are known by numbers below these.
    pub(crate) slots: usize,
    pub(crate) loops: usize,
    pub(crate) no_blocks: BTreeMap<&'a str, Instructions<'a>>,
}

/// A part of a template.
pub(crate) enum Node<'a> {
    Raw(Bytes),
    Emit(Emit<'a>),
    If(Box<If<'a>>),
    For(Box<For<'a>>),
    Set(Target<'a>, Box<Code<'a>>),
    /// What its nodes make becomes a variable, marked as safe or not.
    Capture(usize, bool, Vec<Node<'a>>),
    /// Nodes with variables of their own.
    Scope(Range<usize>, Vec<Node<'a>>),
    /// Done for what it does to others.
    Run(Box<Code<'a>>),
    Break,
    Continue,
}

/// An expression that is written: by the short way, or else by MiniJinja, which also says what is wrong.
pub(crate) struct Emit<'a> {
    pub(crate) path: Option<(Path<'a>, Mode)>,
    pub(crate) exact: Box<Code<'a>>,
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As it is.
    Plain,
    /// As it is, if it is a text; anything else becomes one by MiniJinja.
    Safe,
    Html,
    Json,
}

/// A variable, and attributes of it.
pub(crate) struct Path<'a> {
    pub(crate) variable: Variable<'a>,
    pub(crate) attributes: Vec<&'a str>,
    /// The first attribute among the keys of the loop over rows whose row the variable is.
    pub(crate) key: Option<usize>,
}

/// Where a name's value may be, the innermost scope first; behind these what the template was given.
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) places: Vec<Place>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Slot(usize),
    /// The loop itself: `loop`.
    Loop(usize),
}

pub(crate) struct If<'a> {
    pub(crate) condition: Condition<'a>,
    pub(crate) yes: Vec<Node<'a>>,
    pub(crate) no: Vec<Node<'a>>,
}

/// A condition: by the short way where it has one and that knows the answer, or else by MiniJinja.
pub(crate) struct Condition<'a> {
    pub(crate) short: Option<Test<'a>>,
    pub(crate) exact: Box<Code<'a>>,
}

pub(crate) enum Test<'a> {
    Truth(Path<'a>),
    Compare(Operand<'a>, Comparison, Operand<'a>),
    Not(Box<Test<'a>>),
    And(Box<Test<'a>>, Box<Test<'a>>),
    Or(Box<Test<'a>>, Box<Test<'a>>),
}

pub(crate) enum Operand<'a> {
    Path(Path<'a>),
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

/// What is assigned to.
pub(crate) enum Target<'a> {
    Slot(usize),
    List(Vec<Target<'a>>, At<'a>),
}

/// A place in a template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) name: &'a str,
    pub(crate) source: &'a str,
    pub(crate) span: Span,
}

pub(crate) struct For<'a> {
    pub(crate) items: Items<'a>,
    pub(crate) target: Target<'a>,
    /// Variables of the body, the target among them: each iteration begins without them.
    pub(crate) slots: Range<usize>,
    /// Items that do not meet it are left out; variables of its own, the target among them.
    pub(crate) filter: Option<(Range<usize>, Target<'a>, Condition<'a>)>,
    pub(crate) body: Vec<Node<'a>>,
    pub(crate) otherwise: Vec<Node<'a>>,
    pub(crate) number: usize,
    /// What is asked of a row.
    pub(crate) keys: Vec<&'a str>,
    pub(crate) uses: Uses,
}

/// What a loop's body asks for, as far as it matters how the loop runs.
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
        value: Box<Code<'a>>,
        /// Says what is wrong with what can't be looped over.
        check: Box<Code<'a>>,
    },
}

/// What MiniJinja does for us, with the variables that it names.
pub(crate) struct Code<'a> {
    pub(crate) instructions: Instructions<'a>,
    pub(crate) names: Arc<[Box<str>]>,
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) escape: AutoEscape,
}
