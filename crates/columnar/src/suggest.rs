//! Names close to a mistyped one.

/// Number of suggested names.
const NAMES: usize = 5;

/// The names nearest to `wanted`, nearest first.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut near: Vec<(usize, &str)> = names.map(|name| (distance(&wanted, &name.to_lowercase()), name)).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(NAMES).map(|(_, name)| name).collect()
}

/// Edits that make one text the other; a name whose end is the wanted one is nearer than that.
fn distance(wanted: &str, name: &str) -> usize {
    if name.rsplit('.').next() == Some(wanted) {
        return 1;
    }
    let name: Vec<char> = name.chars().collect();
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (line, left) in wanted.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (place, right) in name.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(row[place] + 1).min(diagonal + 1);
        }
    }
    row[name.len()]
}

#[cfg(test)]
mod tests {
    #[test]
    fn tells_what_was_meant() {
        let names = ["type", "actor.login", "created_at", "actor.id", "public", "payload.ref"];
        assert_eq!(super::nearest("login", names.into_iter())[0], "actor.login");
        assert_eq!(super::nearest("Created_at", names.into_iter())[0], "created_at");
        assert_eq!(super::nearest("actor.logn", names.into_iter())[0], "actor.login");
    }
}
