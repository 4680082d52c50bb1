//! What is known of the columns: a tree of types that only widens.

use arrow_schema::SchemaRef;

/// The columns that some records need. Shapes are merged in the order of the input: a field's place is where it came first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {}

impl Shape {
    /// What both need.
    pub fn merge(&mut self, _later: Shape) {}

    /// The schema for it; `rest` adds the column `_rest` for what has no column.
    #[must_use]
    pub fn to_schema(&self, _rest: bool) -> SchemaRef {
        todo!()
    }
}
impl Shape {
    pub fn from_schema(_schema: &SchemaRef) -> Self {
        Self {}
    }
    pub fn parse(_text: &str) -> Result<Self, String> {
        todo!()
    }
}
impl std::fmt::Display for Shape {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
