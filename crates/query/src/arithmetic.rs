//! `+`, `-` and `*` of whole numbers, with an error where the result has no room.
//!
//! # Why?
//! The engine's own wrap around: twice a large number is a negative one, without a word. Its
//! operators that look are used in no plan, so these take their place once the types are known.

use datafusion::arrow::array::{ArrayRef, Datum};
use datafusion::arrow::compute::kernels::numeric::{add, mul, sub};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, exec_datafusion_err, internal_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr_common::datum::apply;
use std::sync::Arc;

/// Puts operators that look in place of those that wrap around.
///
/// It comes after the rule that makes the types of both sides equal.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic;

impl AnalyzerRule for CheckedArithmetic {
    fn name(&self) -> &str {
        "checked_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(check_plan)?.data)
    }
}

fn check_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    let names = NamePreserver::new(&plan);
    let named = |expr: Expr| {
        let name = names.save(&expr);
        let checked = expr.transform_up(|expr| check(expr, &schema))?;
        Ok(checked.update_data(|expr| name.restore(expr)))
    };
    plan.map_expressions(|expr| match expr {
        // Not the set has a name, but its members have.
        Expr::GroupingSet(_) => expr.map_children(named),
        expr => named(expr),
    })
}

fn check(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let operator = CheckedOperator::of(op);
            let kind = if operator.is_some() { whole_type(&left, schema)? } else { None };
            match operator.zip(kind) {
                Some((operator, kind)) if right.get_type(schema)? == kind => {
                    Ok(Transformed::yes(call(*left, operator, *right, kind)))
                }
                _ => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
            }
        }
        Expr::Negative(negated) if !matches!(*negated, Expr::Literal(..)) => match whole_type(&negated, schema)? {
            Some(kind) => {
                let zero = Expr::Literal(ScalarValue::new_zero(&kind)?, None);
                Ok(Transformed::yes(call(zero, CheckedOperator::Subtract, *negated, kind)))
            }
            None => Ok(Transformed::no(Expr::Negative(negated))),
        },
        expr => Ok(Transformed::no(expr)),
    }
}

/// Type of an expression; `None` if it is not one of whole numbers.
fn whole_type(expr: &Expr, schema: &DFSchema) -> Result<Option<DataType>> {
    if let Some(chain) = chain(expr) {
        return Ok(Some(chain.kind.clone()));
    }
    Ok(Some(expr.get_type(schema)?).filter(DataType::is_integer))
}

fn chain(expr: &Expr) -> Option<&CheckedChain> {
    let Expr::ScalarFunction(call) = expr else { return None };
    call.func.inner().downcast_ref::<CheckedChain>()
}

/// One call for a whole chain, `a + b - c`: in a tree of as many levels as it has operators, the
/// engine asks each level for the types and names of all below it.
fn call(left: Expr, operator: CheckedOperator, right: Expr, kind: DataType) -> Expr {
    let before = chain(&left).map(|chain| chain.operators.clone());
    let (mut operators, mut numbers) = match (before, left) {
        (Some(operators), Expr::ScalarFunction(call)) => (operators, call.args),
        (_, left) => (Vec::new(), vec![left]),
    };
    operators.push(operator);
    numbers.push(right);
    function(operators, kind).call(numbers)
}

/// Parts of a function of checked operators that make it in another process; `None` if it is none.
#[must_use]
pub fn checked_parts(function: &ScalarUDF) -> Option<(String, DataType)> {
    let chain = function.inner().downcast_ref::<CheckedChain>()?;
    Some((chain.operators.iter().map(|operator| operator.sign()).collect(), chain.kind.clone()))
}

/// The function of these parts; `None` if they are of none.
#[must_use]
pub fn checked_of_parts(signs: &str, kind: &DataType) -> Option<ScalarUDF> {
    let operators: Option<Vec<CheckedOperator>> = signs.chars().map(CheckedOperator::of_sign).collect();
    Some(function(operators?, kind.clone())).filter(|_| kind.is_integer() && !signs.is_empty())
}

fn function(operators: Vec<CheckedOperator>, kind: DataType) -> ScalarUDF {
    let signature = Signature::any(operators.len() + 1, Volatility::Immutable);
    let name = format!("checked[{}]", operators.iter().map(|operator| operator.sign()).collect::<Vec<_>>().join(" "));
    ScalarUDF::from(CheckedChain { name, operators, kind, signature })
}

/// An operator of two whole numbers of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CheckedOperator {
    Add,
    Subtract,
    Multiply,
}

impl CheckedOperator {
    fn of(operator: Operator) -> Option<Self> {
        match operator {
            Operator::Plus => Some(Self::Add),
            Operator::Minus => Some(Self::Subtract),
            Operator::Multiply => Some(Self::Multiply),
            _ => None,
        }
    }

    fn of_sign(sign: char) -> Option<Self> {
        [Self::Add, Self::Subtract, Self::Multiply].into_iter().find(|operator| operator.sign().contains(sign))
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
        }
    }

    fn kernel(self) -> fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Add => add,
            Self::Subtract => sub,
            Self::Multiply => mul,
        }
    }
}

/// Operators between whole numbers of one type, from left to right.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedChain {
    /// Plans show it: `checked[+ -](a, b, c)`.
    name: String,
    operators: Vec<CheckedOperator>,
    kind: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for CheckedChain {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.kind.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.kind.clone(), is_nullable)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut numbers = args.args.into_iter();
        let Some(first) = numbers.next() else { return internal_err!("{} of nothing", self.name()) };
        self.operators.iter().zip(numbers).try_fold(first, |left, (operator, right)| {
            apply(&left, &right, operator.kernel()).map_err(|cause| no_room(&cause, &self.kind))
        })
    }
}

fn no_room(cause: &DataFusionError, kind: &DataType) -> DataFusionError {
    let cause = cause.to_string();
    // The engine says "Arrow error: Arithmetic overflow: Overflow happened on: 1 + 2".
    let overflow = cause.rsplit(": ").next().unwrap_or(&cause);
    exec_datafusion_err!("{overflow} has no room in {kind}: CAST a side AS DECIMAL(38,0) or AS DOUBLE for more")
}
