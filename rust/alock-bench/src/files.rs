//! Files that are whole or not there.

use std::fs;
use std::path::Path;

/// Writes a file beside its place, and puts it there when it is whole.
pub(crate) fn write(dir: &Path, name: &str, contents: &str) -> Result<(), String> {
    let at = dir.join(name);
    let new = dir.join(format!(".{name}.new"));
    fs::write(&new, contents)
        .and_then(|()| fs::rename(&new, &at))
        .map_err(|error| {
            // Best effort: what matters is said below.
            let _ = fs::remove_file(&new);
            format!("cannot write {}: {error}", at.display())
        })
}

/// Removes a file, if it is there.
pub(crate) fn remove(dir: &Path, name: &str) -> Result<(), String> {
    let at = dir.join(name);
    match fs::remove_file(&at) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", at.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A folder of a test's own, gone with it.
    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Folder {
        pub(crate) fn new(test: &str) -> Self {
            let dir = format!("alock-bench-{}-{test}", std::process::id());
            let dir = std::env::temp_dir().join(dir);
            fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let dir = Folder::new("files");
        write(&dir.0, "a", "1").unwrap();
        write(&dir.0, "a", "2").unwrap();
        assert_eq!(fs::read_to_string(dir.0.join("a")).unwrap(), "2");
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 1);
        // A folder stands where it should go.
        fs::create_dir(dir.0.join("b")).unwrap();
        let said = write(&dir.0, "b", "1").unwrap_err();
        assert!(
            said.starts_with("cannot write ") && said.contains("/b: "),
            "{said}"
        );
        assert_eq!(fs::read_dir(&dir.0).unwrap().count(), 2);
        remove(&dir.0, "a").unwrap();
        remove(&dir.0, "a").unwrap();
        assert!(remove(&dir.0, "b").unwrap_err().contains("/b: "));
    }
}
