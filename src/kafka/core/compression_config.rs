//! The compression that a configuration asks for.

use crate::kafka::core::config::{ConfigError, bad};
use crate::kafka::wire::compression::Codec;

/// `compression.type` and the levels, each as it comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CompressionKeys {
    kind: Kind,
    gzip_level: Option<u32>,
    zstd_level: Option<i32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl CompressionKeys {
    /// `compression.type`
    pub(super) fn set_type(&mut self, value: &str) -> Result<(), ConfigError> {
        self.kind = match value {
            "none" => Kind::None,
            "gzip" => Kind::Gzip,
            "snappy" => Kind::Snappy,
            "lz4" => Kind::Lz4,
            "zstd" => Kind::Zstd,
            _ => return Err(bad("compression.type", value, "none, gzip, snappy, lz4 or zstd")),
        };
        Ok(())
    }

    /// `compression.gzip.level`; -1 is zlib's own default.
    pub(super) fn set_gzip_level(&mut self, value: &str) -> Result<(), ConfigError> {
        self.gzip_level = match value.parse() {
            Ok(-1_i64) => None,
            Ok(level @ 1..=9) => u32::try_from(level).ok(),
            _ => return Err(bad("compression.gzip.level", value, "1 to 9, or -1")),
        };
        Ok(())
    }

    /// `compression.zstd.level`
    pub(super) fn set_zstd_level(&mut self, value: &str) -> Result<(), ConfigError> {
        match value.parse() {
            Ok(level @ -131_072..=22) => self.zstd_level = Some(level),
            _ => return Err(bad("compression.zstd.level", value, "-131072 to 22")),
        }
        Ok(())
    }

    /// What they come to.
    pub(super) fn codec(self) -> Result<Option<Codec>, ConfigError> {
        Ok(Some(match self.kind {
            Kind::None => return Ok(None),
            Kind::Gzip => Codec::Gzip { level: self.gzip_level.unwrap_or(6) },
            Kind::Snappy => Codec::Snappy,
            Kind::Lz4 => Codec::Lz4,
            Kind::Zstd => zstd(self.zstd_level.unwrap_or(3))?,
        }))
    }
}

#[cfg(feature = "zstd")]
fn zstd(level: i32) -> Result<Codec, ConfigError> {
    Ok(Codec::Zstd { level })
}

#[cfg(not(feature = "zstd"))]
fn zstd(_: i32) -> Result<Codec, ConfigError> {
    Err(ConfigError::NotBuiltIn { key: "compression.type", value: "zstd", feature: "zstd" })
}

#[cfg(test)]
mod tests {
    use super::super::config::ProducerConfig;
    use super::*;

    fn codec(pairs: &[(&str, &str)]) -> Result<Option<Codec>, ConfigError> {
        let properties = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        ProducerConfig::from_properties(&properties).map(|config| config.compression)
    }

    #[test]
    fn each_type_takes_its_own_level() {
        let levels = [("compression.gzip.level", "9"), ("compression.zstd.level", "19")];
        let with = |kind| codec(&[levels[0], levels[1], ("compression.type", kind)]);
        assert_eq!(codec(&[]), Ok(None));
        assert_eq!(with("none"), Ok(None));
        assert_eq!(with("gzip"), Ok(Some(Codec::Gzip { level: 9 })));
        assert_eq!(with("snappy"), Ok(Some(Codec::Snappy)));
        assert_eq!(with("lz4"), Ok(Some(Codec::Lz4)));
        assert_eq!(codec(&[("compression.type", "gzip"), ("compression.gzip.level", "-1")]), Ok(Some(Codec::Gzip { level: 6 })));
    }

    #[test]
    fn levels_out_of_javas_bounds_are_refused() {
        let rows = [
            ("compression.gzip.level", "0"),
            ("compression.gzip.level", "10"),
            ("compression.zstd.level", "23"),
            ("compression.type", "GZIP"),
        ];
        for row in rows {
            assert!(matches!(codec(&[row]), Err(ConfigError::BadValue { .. })), "{row:?}");
        }
    }

    #[cfg(not(feature = "zstd"))]
    #[test]
    fn what_is_not_built_in_names_its_feature() {
        let error = codec(&[("compression.type", "zstd")]).unwrap_err();
        assert_eq!(error.to_string(), "`compression.type` = zstd is not built in: it is C code, and comes with the cargo feature `zstd`");
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn zstd_is_built_in() {
        assert_eq!(codec(&[("compression.type", "zstd")]), Ok(Some(Codec::Zstd { level: 3 })));
        assert_eq!(codec(&[("compression.type", "zstd"), ("compression.zstd.level", "-7")]), Ok(Some(Codec::Zstd { level: -7 })));
    }
}
