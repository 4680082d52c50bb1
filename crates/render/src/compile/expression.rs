//! Expressions: paths and comparisons by the short way, anything by MiniJinja.

use super::{NotCompilable, Result, TemplateCompiler};
use crate::plan::{Comparison, DelegatedCode, EscapeMode, Operand, TemplateCondition, TemplateTest, VarPath, Variable};
use minijinja::AutoEscape;
use minijinja::machinery::ast::{BinOpKind, Call, CallArg, CompareOpKind, Expr, Stmt, UnaryOpKind};
use minijinja::machinery::{CodeGenerator, Instruction, Span};

impl<'a> TemplateCompiler<'a> {
    /// The short way to write an expression, if it has one.
    pub(super) fn short(&mut self, expr: &Expr<'a>) -> Result<Option<(VarPath<'a>, EscapeMode)>> {
        let mode = match &self.escape {
            AutoEscape::None => EscapeMode::Plain,
            AutoEscape::Html => EscapeMode::Html,
            AutoEscape::Json => EscapeMode::Json,
            _ => return Err(NotCompilable::Unknown),
        };
        let Expr::Filter(filter) = expr else { return Ok(self.path(expr).map(|path| (path, mode))) };
        let Some(inner) = filter.expr.as_ref().filter(|_| filter.args.is_empty()) else { return Ok(None) };
        let mode = match filter.name {
            "safe" => EscapeMode::Safe,
            "escape" | "e" => match (mode, (self.escape_of)(self.template.name)) {
                (EscapeMode::Plain, AutoEscape::Json) | (EscapeMode::Json, _) => EscapeMode::Json,
                _ => EscapeMode::Html,
            },
            _ => return Ok(None),
        };
        Ok(self.path(inner).map(|path| (path, mode)))
    }

    /// A variable with attributes.
    fn path(&mut self, expr: &Expr<'a>) -> Option<VarPath<'a>> {
        let mut attributes = Vec::new();
        let mut inner = expr;
        while let Expr::GetAttr(get) = inner {
            attributes.push(get.name);
            inner = &get.expr;
        }
        let Expr::Var(variable) = inner else { return None };
        attributes.reverse();
        let variable = self.scopes.variable(variable.id);
        if variable.name == "loop" && attributes.first() == Some(&"last") {
            self.scopes.uses_last();
        }
        let key = attributes.first().and_then(|first| self.scopes.key(&variable, first));
        Some(VarPath { variable, attributes, key })
    }

    /// A condition.
    pub(super) fn condition(&mut self, expr: &Expr<'a>) -> Result<TemplateCondition<'a>> {
        let exact = self.code(&VarNames::of(expr)?, |generator| {
            generator.push_span(expr.span());
            generator.compile_expr(expr);
            // Twice: the rest is true or false, or an error where a name has no value.
            generator.add(Instruction::Not);
            generator.add(Instruction::Not);
            generator.pop_span();
        });
        Ok(TemplateCondition { short: self.test(expr), exact })
    }

    fn test(&mut self, expr: &Expr<'a>) -> Option<TemplateTest<'a>> {
        Some(match expr {
            Expr::UnaryOp(unary) if matches!(unary.op, UnaryOpKind::Not) => TemplateTest::Not(Box::new(self.test(&unary.expr)?)),
            Expr::BinOp(binary) => {
                let (left, right) = (&binary.left, &binary.right);
                match binary.op {
                    BinOpKind::ScAnd => TemplateTest::And(Box::new(self.test(left)?), Box::new(self.test(right)?)),
                    BinOpKind::ScOr => TemplateTest::Or(Box::new(self.test(left)?), Box::new(self.test(right)?)),
                    op => TemplateTest::Compare(self.operand(left)?, binary_comparison(op)?, self.operand(right)?),
                }
            }
            Expr::Compare(compare) => {
                let [only] = &compare.ops[..] else { return None };
                TemplateTest::Compare(self.operand(&compare.expr)?, comparison(only.op)?, self.operand(&only.expr)?)
            }
            _ => TemplateTest::Truth(self.path(expr)?),
        })
    }

    fn operand(&mut self, expr: &Expr<'a>) -> Option<Operand<'a>> {
        match expr.as_const() {
            Some(value) => Some(Operand::Const(value)),
            None => self.path(expr).map(Operand::Path),
        }
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, expr: &Expr<'a>) -> Result<Box<DelegatedCode<'a>>> {
        Ok(self.code(&VarNames::of(expr)?, |generator| {
            generator.push_span(expr.span());
            generator.compile_expr(expr);
            generator.pop_span();
        }))
    }

    /// A loop over an expression that never runs: it fails where the loop would. `span` is the
    /// place that it names then.
    pub(super) fn check(&mut self, expr: &Expr<'a>, span: Span) -> Result<Box<DelegatedCode<'a>>> {
        Ok(self.code(&VarNames::of(expr)?, |generator| {
            generator.push_span(span);
            generator.compile_expr(expr);
            generator.add(Instruction::PushLoop(0));
            generator.pop_span();
        }))
    }

    /// A whole statement.
    pub(super) fn statement(&mut self, expr: &Expr<'a>, statement: &Stmt<'a>) -> Result<Box<DelegatedCode<'a>>> {
        Ok(self.code(&VarNames::of(expr)?, |generator| generator.compile_stmt(statement)))
    }

    pub(super) fn code(&mut self, names: &VarNames<'a>, compile: impl FnOnce(&mut CodeGenerator<'a>)) -> Box<DelegatedCode<'a>> {
        let mut generator = CodeGenerator::new(self.template.name, self.template.source);
        compile(&mut generator);
        let (instructions, _) = generator.finish();
        if names.last {
            self.scopes.uses_last();
        }
        let variables: Vec<Variable<'a>> = names.names.iter().map(|name| self.scopes.variable(name)).collect();
        let names = variables.iter().map(|variable| Box::from(variable.name)).collect();
        Box::new(DelegatedCode { instructions, names, variables, escape: self.escape.clone() })
    }
}

fn comparison(op: CompareOpKind) -> Option<Comparison> {
    Some(match op {
        CompareOpKind::Eq => Comparison::Eq,
        CompareOpKind::Ne => Comparison::Ne,
        CompareOpKind::Lt => Comparison::Lt,
        CompareOpKind::Lte => Comparison::Lte,
        CompareOpKind::Gt => Comparison::Gt,
        CompareOpKind::Gte => Comparison::Gte,
        CompareOpKind::In | CompareOpKind::NotIn => return None,
    })
}

fn binary_comparison(op: BinOpKind) -> Option<Comparison> {
    Some(match op {
        BinOpKind::Eq => Comparison::Eq,
        BinOpKind::Ne => Comparison::Ne,
        BinOpKind::Lt => Comparison::Lt,
        BinOpKind::Lte => Comparison::Lte,
        BinOpKind::Gt => Comparison::Gt,
        BinOpKind::Gte => Comparison::Gte,
        _ => return None,
    })
}

/// The names in an expression, each once.
#[derive(Default)]
pub(super) struct VarNames<'a> {
    names: Vec<&'a str>,
    /// `loop.last` is among them.
    last: bool,
}

impl<'a> VarNames<'a> {
    /// # Errors
    /// When one has a meaning that only MiniJinja can give it.
    pub(super) fn of(expr: &Expr<'a>) -> Result<Self> {
        Self::default().with(expr)
    }

    /// The same as [`VarNames::of`], for a call.
    pub(super) fn of_call(call: &Call<'a>) -> Result<Self> {
        let mut names = Self::default();
        names.call(call)?;
        Ok(names)
    }

    /// With those of another expression.
    pub(super) fn with(mut self, expr: &Expr<'a>) -> Result<Self> {
        self.add(expr)?;
        Ok(self)
    }

    fn add(&mut self, expr: &Expr<'a>) -> Result<()> {
        match expr {
            Expr::Var(variable) if matches!(variable.id, "self" | "super" | "caller" | "loop") => {
                return Err(NotCompilable::Unknown);
            }
            Expr::Var(variable) => {
                if !self.names.contains(&variable.id) {
                    self.names.push(variable.id);
                }
            }
            Expr::Const(_) => {}
            Expr::Slice(slice) => {
                self.add(&slice.expr)?;
                self.all([&slice.start, &slice.stop, &slice.step].into_iter().flatten())?;
            }
            Expr::UnaryOp(unary) => self.add(&unary.expr)?,
            Expr::BinOp(binary) => self.all([&binary.left, &binary.right])?,
            Expr::Compare(compare) => {
                self.add(&compare.expr)?;
                self.all(compare.ops.iter().map(|op| &op.expr))?;
            }
            Expr::IfExpr(choice) => {
                self.all([&choice.test_expr, &choice.true_expr])?;
                self.all(choice.false_expr.iter())?;
            }
            Expr::Filter(filter) => {
                self.all(filter.expr.iter())?;
                self.arguments(&filter.args)?;
            }
            Expr::Test(test) => {
                self.add(&test.expr)?;
                self.arguments(&test.args)?;
            }
            Expr::GetAttr(get) => self.attribute(&get.expr, get.name)?,
            Expr::GetItem(get) => self.all([&get.expr, &get.subscript_expr])?,
            Expr::Call(call) => self.call(call)?,
            Expr::List(list) => self.all(&list.items)?,
            Expr::Tuple(tuple) => self.all(&tuple.items)?,
            Expr::Map(map) => self.all(map.keys.iter().chain(&map.values))?,
        }
        Ok(())
    }

    fn call(&mut self, call: &Call<'a>) -> Result<()> {
        self.add(&call.expr)?;
        self.arguments(&call.args)
    }

    /// An attribute of `loop` is known; anything else done with it is MiniJinja's.
    fn attribute(&mut self, expr: &Expr<'a>, name: &str) -> Result<()> {
        match expr {
            Expr::Var(variable) if variable.id == "loop" => {
                if matches!(name, "previtem" | "nextitem" | "changed") {
                    return Err(NotCompilable::Unknown);
                }
                self.last |= name == "last";
                if !self.names.contains(&"loop") {
                    self.names.push("loop");
                }
                Ok(())
            }
            _ => self.add(expr),
        }
    }

    fn all<'e>(&mut self, all: impl IntoIterator<Item = &'e Expr<'a>>) -> Result<()>
    where
        'a: 'e,
    {
        all.into_iter().try_for_each(|expr| self.add(expr))
    }

    fn arguments(&mut self, arguments: &[CallArg<'a>]) -> Result<()> {
        self.all(arguments.iter().map(|argument| match argument {
            CallArg::Pos(expr) | CallArg::Kwarg(_, expr) | CallArg::PosSplat(expr) | CallArg::KwargSplat(expr) => expr,
        }))
    }
}
