//! Which columns records have.

use super::Layout;
use super::cursor::{Cursor, Flaw};
use super::number::{FLOAT_INTEGER_MAX, Number};
use super::records::{Between, Stop};
use super::string::{Raw, unescape};
use super::time::Moment;
use crate::decode::{Infer, Inferred, Note, Notes};
use crate::limits::NESTING_MAX;
use crate::shape::{Count, Kinds, Node};
use rorqual_pipe::{Chunk, Error};

/// Finds out the columns of JSON records.
#[derive(Debug)]
pub struct Inferrer {
    between: Between,
    scratch: String,
}

impl Inferrer {
    /// For records in that layout.
    #[must_use]
    pub fn new(layout: &Layout) -> Self {
        Self { between: Between::of(layout), scratch: String::new() }
    }
}

impl Infer for Inferrer {
    fn infer(&mut self, chunk: &Chunk) -> Result<Inferred, Error> {
        let mut inferred = Inferred::default();
        let (shape, notes) = (&mut inferred.shape, &mut inferred.notes);
        let walked = self.between.each(chunk, &mut inferred.bad, |cursor, offset| {
            let mut reader = Reader { cursor, offset, count: &mut shape.count, notes, scratch: &mut self.scratch };
            Ok(reader.value(&mut shape.record, 0)?)
        });
        match walked {
            Err(Stop::Run(error)) => Err(error),
            _ => Ok(inferred),
        }
    }
}

/// Reads one record.
struct Reader<'a, 't> {
    cursor: &'a mut Cursor<'t>,
    /// Of the cursor's text.
    offset: u64,
    count: &'a mut Count,
    notes: &'a mut Notes,
    scratch: &'a mut String,
}

impl Reader<'_, '_> {
    fn value(&mut self, node: &mut Node, level: usize) -> Result<(), Flaw> {
        let offset = self.offset + self.cursor.at() as u64;
        let kinds = match self.cursor.peek()? {
            b'"' => {
                let raw = self.cursor.string()?;
                self.text(raw)?
            }
            b'{' => return self.object(node, level, offset),
            b'[' => return self.list(node, level, offset),
            b'-' | b'0'..=b'9' => {
                let literal = self.cursor.number()?;
                self.number(literal, offset)
            }
            b'n' => self.cursor.word("null").map(|()| Kinds::NULL)?,
            b't' => self.cursor.word("true").map(|()| Kinds::BOOL)?,
            b'f' => self.cursor.word("false").map(|()| Kinds::BOOL)?,
            _ => return Err(self.cursor.no_value()),
        };
        node.meet(kinds, offset);
        Ok(())
    }

    fn number(&mut self, literal: &str, offset: u64) -> Kinds {
        match Number::of(literal) {
            Number::Int(value) => {
                let negative = if value < 0 { Kinds::NEGATIVE } else { Kinds::INT };
                let big = if value.unsigned_abs() > FLOAT_INTEGER_MAX { Kinds::BIG } else { Kinds::INT };
                Kinds::INT | negative | big
            }
            Number::UInt(_) => Kinds::INT | Kinds::UINT,
            Number::Float(_) => Kinds::FLOAT,
            Number::Changed => {
                self.notes.add(Note::NumberAsText, offset);
                Kinds::CHANGED
            }
        }
    }

    fn text(&mut self, raw: Raw<'_>) -> Result<Kinds, Flaw> {
        if !raw.escaped {
            return Ok(text_kind(raw.body));
        }
        self.scratch.clear();
        if unescape(raw.body, raw.start, self.scratch)? {
            // Such a text goes to `_rest`.
            self.count.overflows = true;
        }
        Ok(text_kind(self.scratch))
    }

    fn object(&mut self, node: &mut Node, level: usize, offset: u64) -> Result<(), Flaw> {
        node.meet(if level >= NESTING_MAX { Kinds::JSON | Kinds::OBJECT } else { Kinds::OBJECT }, offset);
        if node.is_json() {
            return self.cursor.skip().map(drop);
        }
        let mut previous = None;
        let mut goes_on = !self.cursor.enter(b'}')?;
        while goes_on {
            let key = self.cursor.key()?;
            self.cursor.colon()?;
            let field = self.field(node, key, previous)?;
            match field {
                Some(index) => self.value(node.fields().node(index), level + 1)?,
                None => self.cursor.skip().map(drop)?,
            }
            previous = field.or(previous);
            goes_on = self.cursor.goes_on(b'}')?;
        }
        Ok(())
    }

    /// The field of that key; `None` when it can have no column.
    #[inline]
    fn field(&mut self, node: &mut Node, key: Raw<'_>, previous: Option<usize>) -> Result<Option<usize>, Flaw> {
        if !key.escaped {
            return Ok(node.fields().find_or_add(key.body, previous, self.count));
        }
        let mut name = String::new();
        if unescape(key.body, key.start, &mut name)? {
            self.count.overflows = true;
            return Ok(None);
        }
        Ok(node.fields().find_or_add(&name, previous, self.count))
    }

    fn list(&mut self, node: &mut Node, level: usize, offset: u64) -> Result<(), Flaw> {
        node.meet(if level >= NESTING_MAX { Kinds::JSON | Kinds::LIST } else { Kinds::LIST }, offset);
        if node.is_json() {
            return self.cursor.skip().map(drop);
        }
        let mut goes_on = !self.cursor.enter(b']')?;
        while goes_on {
            match node.item(self.count) {
                Some(item) => self.value(item, level + 1)?,
                None => self.cursor.skip().map(drop)?,
            }
            goes_on = self.cursor.goes_on(b']')?;
        }
        Ok(())
    }
}

fn text_kind(text: &str) -> Kinds {
    match Moment::parse(text).filter(Moment::has_column) {
        Some(Moment { digits: 0, .. }) => Kinds::TIME_0,
        Some(Moment { digits: 3, .. }) => Kinds::TIME_3,
        Some(Moment { digits: 6, .. }) => Kinds::TIME_6,
        Some(Moment { digits: 9, .. }) => Kinds::TIME_9,
        _ => Kinds::TEXT,
    }
}
