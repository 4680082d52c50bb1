//! The serialised form of a schema.

use rorqual_accesslog::schema::{OwnColumn, Schema, TextContent};
use serde::{Deserialize, Serialize};

/// Columns of rows, as peers tell them and checkpoints keep them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedSchema {
    pub(crate) is_table: bool,
    pub(crate) has_times: bool,
    pub(crate) time: Option<String>,
    pub(crate) own: Vec<OwnColumn>,
    pub(crate) text_kinds: Vec<TextContent>,
}

impl SavedSchema {
    pub(crate) fn of(schema: &Schema) -> Self {
        Self {
            is_table: schema.is_table(),
            has_times: schema.has_times(),
            time: schema.time().map(str::to_owned),
            own: schema.own().to_vec(),
            text_kinds: (0..schema.own_texts()).map(|number| schema.text_kind(number)).collect(),
        }
    }

    pub(crate) fn schema(&self) -> Schema {
        let own = self.own.clone();
        let schema = if self.is_table { Schema::table(own, self.has_times) } else { Schema::log(own) };
        schema.with_text_kinds(self.text_kinds.clone()).with_time(self.time.clone())
    }
}
