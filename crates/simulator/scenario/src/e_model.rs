//! `e_model` of a `[[flow]]`: parameters of the E-model, which rates speech (ITU-T G.107).

use crate::reader::Open;
use crate::vocabulary::VOCABULARY;
use headway_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Speech codec of a flow and its parameters in the E-model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EModelOptions {
    /// Codec, which determines the defaults of `ie` and `bpl`.
    #[schemars(default)]
    pub codec: SpeechCodec,
    /// Equipment impairment factor Ie, 0 to 95; that of the codec (ITU-T G.113) if absent.
    #[schemars(range(min = 0, max = 95))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ie: Option<f64>,
    /// Packet-loss robustness factor Bpl, 1 to 100; that of the codec (ITU-T G.113) if absent.
    #[schemars(range(min = 1, max = 100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bpl: Option<f64>,
    /// Burst ratio BurstR, 1 to 100: mean length of loss bursts divided by that of random loss; 1 for random loss.
    #[schemars(default = "random_loss", range(min = 1, max = 100))]
    pub burst_ratio: f64,
    /// Delay of the codec, packetization and look-ahead; up to 1s. The mouth-to-ear delay of the E-model is this delay
    /// plus the lifetime of the packets.
    #[schemars(default = "one_packet")]
    pub codec_delay: Duration,
}

/// Codec of narrowband speech in ITU-T G.113 appendix I.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpeechCodec {
    /// G.711 without packet-loss concealment.
    G711,
    /// G.711 with packet-loss concealment.
    #[default]
    G711Plc,
    /// G.729A with voice activity detection.
    G729aVad,
    /// G.723.1 at 6.3 kb/s with voice activity detection.
    G7231Vad,
}

impl SpeechCodec {
    /// Returns Ie and Bpl of G.113 appendix I.
    const fn factors(self) -> (f64, f64) {
        match self {
            Self::G711 => (0.0, 4.3),
            Self::G711Plc => (0.0, 25.1),
            Self::G729aVad => (11.0, 19.0),
            Self::G7231Vad => (15.0, 16.1),
        }
    }
}

const fn random_loss() -> f64 {
    1.0
}

const fn one_packet() -> Duration {
    Duration::from_millis(20)
}

impl Default for EModelOptions {
    fn default() -> Self {
        Self {
            codec: SpeechCodec::default(),
            ie: None,
            bpl: None,
            burst_ratio: random_loss(),
            codec_delay: one_packet(),
        }
    }
}

impl EModelOptions {
    /// Returns the equipment impairment factor Ie: the option, or that of the codec.
    #[must_use]
    pub fn ie(&self) -> f64 {
        self.ie.unwrap_or(self.codec.factors().0)
    }

    /// Returns the packet-loss robustness factor Bpl: the option, or that of the codec.
    #[must_use]
    pub fn bpl(&self) -> f64 {
        self.bpl.unwrap_or(self.codec.factors().1)
    }
}

pub(crate) fn read(flow: &mut Open<'_, '_>) -> Option<EModelOptions> {
    let (value, path) = (flow.value("e_model")?, flow.path.key("e_model"));
    let mut table = flow.reader.open(value, &path, &VOCABULARY.e_model)?;
    let preset = EModelOptions::default();
    Some(EModelOptions {
        codec: table.optional("codec").unwrap_or_default(),
        ie: table.within("ie", 0.0..=95.0, "from 0 to 95"),
        bpl: table.within("bpl", 1.0..=100.0, "from 1 to 100"),
        burst_ratio: table.within("burst_ratio", 1.0..=100.0, "from 1 to 100").unwrap_or(preset.burst_ratio),
        codec_delay: table
            .within("codec_delay", Duration::ZERO..=Duration::from_secs(1), "from 0s to 1s")
            .unwrap_or(preset.codec_delay),
    })
}
