//! Templates come from one folder, and from nowhere else.

use rorqual_render::{PageInput, Templates};
use std::fs::{create_dir, write};
use std::os::unix::fs::symlink;

/// Output of a template in the folder `inside`, beside a secret.
fn rendered(template: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    create_dir(&inside).unwrap();
    create_dir(inside.join("parts")).unwrap();
    write(folder.path().join("secret.txt"), "SECRET").unwrap();
    write(inside.join("parts/part.txt"), "a part").unwrap();
    write(inside.join("bad.txt"), b"a\xffb").unwrap();
    symlink(folder.path().join("secret.txt"), inside.join("link.txt")).unwrap();
    symlink(folder.path(), inside.join("up")).unwrap();
    symlink(inside.join("parts/part.txt"), inside.join("own.txt")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(inside.join("fifo.txt")).status().unwrap();
    assert!(fifo.success());
    let mut templates = Templates::in_folder(&inside, false).map_err(|error| error.to_string())?;
    templates.add("page.txt", template).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let result = templates.render("page.txt", &PageInput::default(), &mut out);
    result.map(|_| String::from_utf8(out).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn what_is_in_the_folder_is_found() {
    assert_eq!(rendered("[{% include 'parts/part.txt' %}{% include 'own.txt' %}]").unwrap(), "[a parta part]");
    assert!(rendered("{% include 'missing.txt' %}").unwrap_err().contains("missing.txt"));
}

#[test]
fn nothing_else_is() {
    for name in ["../secret.txt", "parts/../../secret.txt", "/etc/passwd", "link.txt", "up/secret.txt", "./own.txt", "", "parts/"]
    {
        for template in
            [format!("{{% include '{name}' %}}"), format!("{{% extends '{name}' %}}"), format!("{{% import '{name}' as x %}}")]
        {
            let error = rendered(&template).unwrap_err();
            assert!(!error.contains("SECRET"), "{template}: {error}");
        }
        assert_eq!(rendered(&format!("{{% include '{name}' ignore missing %}}")).unwrap_or_default(), "");
    }
}

#[test]
fn what_is_no_text_is_said() {
    assert!(rendered("{% include 'fifo.txt' %}").unwrap_err().contains("is not a file"));
    assert!(rendered("{% include 'bad.txt' %}").unwrap_err().contains("not UTF-8 at byte 1"));
}
