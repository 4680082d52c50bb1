//! Names and their scopes in a template, as MiniJinja has them.

use crate::plan::{Uses, VarSlot, Variable};
use std::ops::Range;

/// The scopes around a place in a template. The outermost is the template's.
pub(super) struct Scopes<'a> {
    open: Vec<Scope<'a>>,
    slots: usize,
    loops: usize,
}

#[derive(Default)]
struct Scope<'a> {
    names: Vec<(&'a str, usize)>,
    first: usize,
    looped: Option<LoopScope<'a>>,
}

/// A loop whose body is being compiled.
struct LoopScope<'a> {
    number: usize,
    /// The slot of the row, in a loop over rows.
    row: Option<usize>,
    keys: Vec<&'a str>,
    uses: Uses,
}

impl Default for Scopes<'_> {
    fn default() -> Self {
        Self { open: vec![Scope::default()], slots: 0, loops: 0 }
    }
}

impl<'a> Scopes<'a> {
    /// Numbers of slots and loops.
    pub(super) fn numbers(&self) -> (usize, usize) {
        (self.slots, self.loops)
    }

    pub(super) fn open(&mut self) {
        self.open.push(Scope { first: self.slots, ..Scope::default() });
    }

    /// Opens the scope of a loop's body, and numbers it.
    pub(super) fn open_loop(&mut self) -> usize {
        self.open();
        let number = self.loops;
        self.loops += 1;
        self.top().looped = Some(LoopScope { number, row: None, keys: Vec::new(), uses: Uses::default() });
        number
    }

    /// The slots of the scope that ends; those of scopes in it are among them.
    pub(super) fn close(&mut self) -> Range<usize> {
        let scope = self.open.pop().unwrap_or_default();
        scope.first..self.slots
    }

    /// The same as [`Scopes::close`], with the requests of the body.
    pub(super) fn close_loop(&mut self) -> (Range<usize>, Vec<&'a str>, Uses) {
        let (keys, uses) = self.top().looped.take().map(|looped| (looped.keys, looped.uses)).unwrap_or_default();
        (self.close(), keys, uses)
    }

    /// The slot of a name that is assigned to here.
    pub(super) fn assign(&mut self, name: &'a str) -> usize {
        let slots = self.slots;
        let scope = self.top();
        if let Some((_, slot)) = scope.names.iter().find(|(known, _)| *known == name) {
            return *slot;
        }
        scope.names.push((name, slots));
        self.slots += 1;
        slots
    }

    /// Says that the innermost scope is that of a loop over rows, and which slot has the row.
    pub(super) fn row_is(&mut self, slot: usize) {
        if let Some(looped) = &mut self.top().looped {
            looped.row = Some(slot);
        }
    }

    /// Slots that may hold a name's value.
    pub(super) fn variable(&mut self, name: &'a str) -> Variable<'a> {
        let mut places = Vec::new();
        for scope in self.open.iter_mut().rev() {
            let slot = scope.names.iter().find(|(known, _)| *known == name).map(|(_, slot)| *slot);
            places.extend(slot.map(VarSlot::Slot));
            let Some(looped) = &mut scope.looped else { continue };
            looped.uses.target |= slot.is_some();
            if name == "loop" {
                looped.uses.number = true;
                places.push(VarSlot::Loop(looped.number));
            }
        }
        Variable { name, places }
    }

    /// Among the keys of a loop over rows, the one that `attribute` of its row gets; `None` where
    /// `variable` is no such row.
    pub(super) fn key(&mut self, variable: &Variable<'a>, attribute: &'a str) -> Option<usize> {
        let Some(VarSlot::Slot(slot)) = variable.places.first() else { return None };
        let looped = self.open.iter_mut().filter_map(|scope| scope.looped.as_mut()).find(|looped| looped.row == Some(*slot))?;
        let known = looped.keys.iter().position(|key| *key == attribute);
        Some(known.unwrap_or_else(|| {
            looped.keys.push(attribute);
            looped.keys.len() - 1
        }))
    }

    /// Says that `loop.last` is asked for.
    pub(super) fn uses_last(&mut self) {
        if let Some(looped) = self.open.iter_mut().rev().find_map(|scope| scope.looped.as_mut()) {
            looped.uses.last = true;
        }
    }

    /// Says that no loop around here may run its iterations apart from one another.
    pub(super) fn carries(&mut self) {
        for looped in self.open.iter_mut().filter_map(|scope| scope.looped.as_mut()) {
            looped.uses.carries = true;
        }
    }

    fn top(&mut self) -> &mut Scope<'a> {
        if self.open.is_empty() {
            self.open.push(Scope::default());
        }
        let last = self.open.len() - 1;
        &mut self.open[last]
    }
}
