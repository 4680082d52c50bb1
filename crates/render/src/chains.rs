//! Expressions that are long without being deep: the parser bounds nesting, but `1+1+1…` and `elif`
//! after `elif` become trees as deep as they are long, and a walk over those takes as much stack.

use crate::limits::CHAIN_MAX;
use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind};

/// Refuses a template with an expression of more than [`CHAIN_MAX`] operators, or as many `elif`s
/// of `if`s within one another. A text that is no template at all is left to the parser's message.
pub(crate) fn check(name: &str, text: &str) -> Result<(), Error> {
    let mut operators = 0;
    let mut elifs: Vec<usize> = Vec::new();
    let mut starts = false;
    for (token, span) in tokenize(text, false, SyntaxConfig::default()).map_while(Result::ok) {
        match &token {
            Token::VariableStart | Token::BlockStart => operators = 0,
            Token::Ident("if") if starts => elifs.push(0),
            Token::Ident("elif") if starts => elifs.iter_mut().next_back().into_iter().for_each(|count| *count += 1),
            Token::Ident("endif") if starts => drop(elifs.pop()),
            token if is_operator(token) => operators += 1,
            _ => {}
        }
        starts = matches!(token, Token::BlockStart);
        let long = if operators > CHAIN_MAX {
            "an expression has more than"
        } else if elifs.iter().sum::<usize>() > CHAIN_MAX {
            "the branches of ifs within one another are more than"
        } else {
            continue;
        };
        let what = if operators > CHAIN_MAX { " operators" } else { "" };
        let message = format!("{name}:{}:{}: {long} {CHAIN_MAX}{what}", span.start_line, span.start_col + 1);
        return Err(Error::new(ErrorKind::SyntaxError, message));
    }
    Ok(())
}

/// True if the token joins parts of an expression, and so makes its tree deeper.
fn is_operator(token: &Token<'_>) -> bool {
    match token {
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::FloorDiv | Token::Pow | Token::Mod | Token::Tilde => true,
        Token::Dot | Token::Pipe | Token::BracketOpen | Token::ParenOpen => true,
        Token::Eq | Token::Ne | Token::Gt | Token::Gte | Token::Lt | Token::Lte => true,
        Token::Ident(word) => matches!(*word, "and" | "or" | "not" | "if" | "else" | "is" | "in"),
        _ => false,
    }
}
