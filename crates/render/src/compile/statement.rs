//! Statements.

use super::expression::VarNames;
use super::{NotCompilable, Result, TemplateBlocks, TemplateCompiler, TemplateText};
use crate::limits::PLAN_NODES_MAX;
use crate::objects::ROWS;
use crate::plan::{AssignTarget, Emit, For, If, Items, SourcePosition, TemplateNode};
use bytes::Bytes;
use minijinja::machinery::ast::{self, Expr, Spanned, Stmt};
use minijinja::machinery::{Instructions, eval, make_string_output};
use minijinja::{AutoEscape, Value};
use std::collections::BTreeMap;

impl<'a> TemplateCompiler<'a> {
    pub(super) fn nodes(&mut self, statements: &[Stmt<'a>], blocks: &TemplateBlocks<'_, 'a>) -> Result<Vec<TemplateNode<'a>>> {
        let mut nodes = Vec::new();
        for statement in statements {
            self.node(statement, blocks, &mut nodes)?;
        }
        self.end_raw(&mut nodes);
        Ok(nodes)
    }

    fn node(&mut self, statement: &Stmt<'a>, blocks: &TemplateBlocks<'_, 'a>, nodes: &mut Vec<TemplateNode<'a>>) -> Result<()> {
        if let Stmt::EmitRaw(raw) = statement {
            self.raw.extend_from_slice(raw.raw.as_bytes());
            return Ok(());
        }
        self.nodes += 1;
        if self.nodes > PLAN_NODES_MAX {
            return Err(NotCompilable::Unknown);
        }
        if let Stmt::EmitExpr(emit) = statement {
            return self.emit(&emit.expr, statement, nodes);
        }
        self.end_raw(nodes);
        match statement {
            Stmt::ForLoop(each) => nodes.push(TemplateNode::For(Box::new(self.each(each, blocks)?))),
            Stmt::IfCond(choice) => {
                let condition = self.condition(&choice.expr)?;
                let yes = self.nodes(&choice.true_body, blocks)?;
                let no = self.nodes(&choice.false_body, blocks)?;
                nodes.push(TemplateNode::If(Box::new(If { condition, yes, no })));
            }
            Stmt::WithBlock(with) => {
                self.scopes.open();
                let mut inner = Vec::new();
                for (target, value) in &with.assignments {
                    let value = self.value(value)?;
                    inner.push(TemplateNode::Set(self.target(target)?, value));
                }
                inner.extend(self.nodes(&with.body, blocks)?);
                nodes.push(TemplateNode::Scope(self.scopes.close(), inner));
            }
            Stmt::Set(set) => {
                self.scopes.carries();
                nodes.push(self.set(set, statement)?);
            }
            Stmt::SetBlock(set) => {
                self.scopes.carries();
                let Expr::Var(target) = &set.target else { return Err(NotCompilable::Unknown) };
                if set.filter.is_some() {
                    return Err(NotCompilable::Unknown);
                }
                let body = self.nodes(&set.body, blocks)?;
                let safe = !matches!(self.escape, AutoEscape::None);
                nodes.push(TemplateNode::Capture(self.scopes.assign(target.id), safe, body));
            }
            Stmt::Do(action) => {
                self.scopes.carries();
                let names = VarNames::of_call(&action.call)?;
                nodes.push(TemplateNode::Run(self.code(&names, |generator| generator.compile_stmt(statement))));
            }
            Stmt::AutoEscape(inner) => {
                let escape = derived(&inner.enabled, &self.initial)?;
                let outer = std::mem::replace(&mut self.escape, escape);
                nodes.extend(self.nodes(&inner.body, blocks)?);
                self.escape = outer;
            }
            Stmt::Block(block) => nodes.push(self.block(block, blocks)?),
            Stmt::Include(include) => nodes.extend(self.include(include)?),
            Stmt::Break(_) if self.in_loop => {
                self.scopes.carries();
                nodes.push(TemplateNode::Break);
            }
            Stmt::Continue(_) if self.in_loop => nodes.push(TemplateNode::Continue),
            _ => return Err(NotCompilable::Unknown),
        }
        Ok(())
    }

    fn end_raw(&mut self, nodes: &mut Vec<TemplateNode<'a>>) {
        if !self.raw.is_empty() {
            nodes.push(TemplateNode::Raw(Bytes::from(std::mem::take(&mut self.raw))));
        }
    }

    fn emit(&mut self, expr: &Expr<'a>, statement: &Stmt<'a>, nodes: &mut Vec<TemplateNode<'a>>) -> Result<()> {
        let exact = self.statement(expr, statement)?;
        if expr.as_const().is_some() && self.constant(&exact.instructions) {
            return Ok(());
        }
        self.end_raw(nodes);
        let path = self.short(expr)?;
        nodes.push(TemplateNode::Emit(Emit { path, exact }));
        Ok(())
    }

    /// The text of a constant is text like any other; `false` when it is an error.
    fn constant(&mut self, instructions: &Instructions<'a>) -> bool {
        let mut text = String::new();
        let escape = self.escape.clone();
        let none = BTreeMap::new();
        let written = eval(self.env, instructions, Value::UNDEFINED, &none, &mut make_string_output(&mut text), escape).is_ok();
        if written {
            self.raw.extend_from_slice(text.as_bytes());
        }
        written
    }

    fn set(&mut self, set: &Spanned<ast::Set<'a>>, statement: &Stmt<'a>) -> Result<TemplateNode<'a>> {
        if let Expr::GetAttr(namespace) = &set.target {
            // It changes a namespace, which is shared.
            let names = VarNames::of(&set.expr)?.with(&namespace.expr)?;
            return Ok(TemplateNode::Run(self.code(&names, |generator| generator.compile_stmt(statement))));
        }
        let value = self.value(&set.expr)?;
        Ok(TemplateNode::Set(self.target(&set.target)?, value))
    }

    fn target(&mut self, target: &Expr<'a>) -> Result<AssignTarget<'a>> {
        match target {
            Expr::Var(variable) => Ok(AssignTarget::Slot(self.scopes.assign(variable.id))),
            Expr::List(list) => {
                let items = list.items.iter().map(|item| self.target(item)).collect::<Result<_>>()?;
                let TemplateText { name, source } = self.template;
                Ok(AssignTarget::List(items, SourcePosition { name, source, span: list.span() }))
            }
            _ => Err(NotCompilable::Unknown),
        }
    }

    fn each(&mut self, each: &Spanned<ast::ForLoop<'a>>, blocks: &TemplateBlocks<'_, 'a>) -> Result<For<'a>> {
        if each.recursive {
            return Err(NotCompilable::Unknown);
        }
        let over_rows = self.is_rows(&each.iter);
        let items = if over_rows {
            // Inside of another loop over rows the renderer of that loop would have to render them.
            self.scopes.carries();
            Items::Rows
        } else {
            Items::Value {
                value: self.value(&each.iter)?,
                check: self.check(&each.iter, each.filter_expr.as_ref().unwrap_or(&each.iter).span())?,
            }
        };
        let filter = match &each.filter_expr {
            None => None,
            Some(condition) => {
                self.scopes.open();
                let target = self.target(&each.target)?;
                let condition = self.condition(condition)?;
                Some((self.scopes.close(), target, condition))
            }
        };
        let number = self.scopes.open_loop();
        let target = self.target(&each.target)?;
        match (&target, over_rows) {
            (AssignTarget::Slot(slot), true) => self.scopes.row_is(*slot),
            (AssignTarget::List(..), true) => return Err(NotCompilable::Unknown),
            _ => {}
        }
        let outer = std::mem::replace(&mut self.in_loop, true);
        let body = self.nodes(&each.body, blocks)?;
        self.in_loop = outer;
        let (slots, keys, uses) = self.scopes.close_loop();
        // MiniJinja counts the remaining rows before it begins.
        if filter.is_some() && uses.number {
            return Err(NotCompilable::Unknown);
        }
        let otherwise = self.nodes(&each.else_body, blocks)?;
        Ok(For { items, target, slots, filter, body, otherwise, number, keys, uses })
    }

    /// True if an expression is the rows, and no variable has that name.
    fn is_rows(&mut self, expr: &Expr<'a>) -> bool {
        matches!(expr, Expr::Var(variable) if variable.id == ROWS && self.rows && self.scopes.variable(ROWS).places.is_empty())
    }

    fn block(&mut self, block: &ast::Block<'a>, blocks: &TemplateBlocks<'_, 'a>) -> Result<TemplateNode<'a>> {
        let (block, template) = blocks.get(block.name).copied().unwrap_or((block, self.template));
        if block.required {
            return Err(NotCompilable::Unknown);
        }
        let escape = self.escape.clone();
        let outer = (
            std::mem::replace(&mut self.template, template),
            std::mem::replace(&mut self.initial, escape),
            std::mem::replace(&mut self.in_loop, false),
        );
        self.scopes.open();
        let inner = self.deeper(|compiler| compiler.nodes(&block.body, blocks))?;
        let slots = self.scopes.close();
        (self.template, self.initial, self.in_loop) = outer;
        Ok(TemplateNode::Scope(slots, inner))
    }

    fn include(&mut self, include: &ast::Include<'a>) -> Result<Vec<TemplateNode<'a>>> {
        let included = self.other(&include.name)?;
        let escape = (self.escape_of)(included.name);
        let outer = (
            std::mem::replace(&mut self.template, included),
            std::mem::replace(&mut self.escape, escape.clone()),
            std::mem::replace(&mut self.initial, escape),
            std::mem::replace(&mut self.in_loop, false),
        );
        let nodes = self.deeper(|compiler| compiler.template(&TemplateBlocks::new()))?;
        (self.template, self.escape, self.initial, self.in_loop) = outer;
        Ok(nodes)
    }
}

/// The mode of `{% autoescape %}`, where that is a constant.
fn derived(enabled: &Expr<'_>, initial: &AutoEscape) -> Result<AutoEscape> {
    let value = enabled.as_const().ok_or(NotCompilable::Unknown)?;
    match (value.as_str(), value == Value::from(true)) {
        (Some("html"), _) => Ok(AutoEscape::Html),
        (Some("json"), _) => Ok(AutoEscape::Json),
        (Some("none"), _) | (None, false) => Ok(AutoEscape::None),
        (None, true) if *initial == AutoEscape::None => Ok(AutoEscape::Html),
        (None, true) => Ok(initial.clone()),
        _ => Err(NotCompilable::Unknown),
    }
}
