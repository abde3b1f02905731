//! Student's t distribution: tails, quantiles, and the difference that a t test finds. Numbers only; what is tested is said elsewhere.
//!
//! Tails come from the incomplete beta function (continued fraction after Lentz), quantiles from the tails by Newton's method: exact to about
//! ten digits for any number of degrees of freedom, whole or not, which tables and the usual approximations are not.

/// Steps of the continued fraction; it needs about the square root of the degrees of freedom.
const STEPS_MAX: u32 = 10_000;

/// Below this the continued fraction would divide by zero.
const TINY: f64 = 1e-300;

/// Steps towards a quantile; it is there after about ten.
const NEWTON_MAX: u32 = 100;

/// Share of comparisons that must find a difference for it to be called detectable.
const POWER: f64 = 0.95;

/// Probability that |T| is at least |t|; 1 if there are no degrees of freedom.
pub(super) fn two_sided_p(t: f64, degrees: f64) -> f64 {
    if degrees <= 0.0 || t == 0.0 {
        return 1.0;
    }
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5)
}

/// The t above which |T| lies with this probability; infinite if there are no degrees of freedom or the probability is 0.
pub(super) fn two_sided_quantile(p: f64, degrees: f64) -> f64 {
    if degrees <= 0.0 || p <= 0.0 {
        return f64::INFINITY;
    }
    // The tail falls and is convex: from a t that is too small, Newton's method comes nearer from below and never steps over.
    let mut t = 1.0;
    while two_sided_p(2.0 * t, degrees) > p {
        t *= 2.0;
    }
    if two_sided_p(t, degrees) < p {
        t = 0.0;
    }
    for _ in 0..NEWTON_MAX {
        let step = (two_sided_p(t, degrees) - p) / (2.0 * density(t, degrees));
        t += step;
        if step.abs() <= 1e-13 * t {
            break;
        }
    }
    t
}

/// Density of the distribution.
fn density(t: f64, degrees: f64) -> f64 {
    let front = ln_gamma(f64::midpoint(degrees, 1.0)) - ln_gamma(degrees / 2.0) - 0.5 * (degrees * std::f64::consts::PI).ln();
    (front - f64::midpoint(degrees, 1.0) * (t * t / degrees).ln_1p()).exp()
}

/// The true difference, in standard errors, that a two-sided test at this significance finds with [`POWER`].
pub(super) fn detectable(significance: f64, degrees: f64) -> f64 {
    two_sided_quantile(significance, degrees) + two_sided_quantile(2.0 * (1.0 - POWER), degrees)
}

/// The regularised incomplete beta function.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    // The fraction converges fast on one side only; the function is symmetric.
    if x < (a + 1.0) / (a + b + 2.0) { front * fraction(x, a, b) / a } else { 1.0 - front * fraction(1.0 - x, b, a) / b }
}

/// The continued fraction of the incomplete beta function.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let kept = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / kept(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for step in 1..=STEPS_MAX {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / kept(1.0 + term * d);
            c = kept(1.0 + term / c);
            change = d * c;
            result *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// Logarithm of the gamma function for positive arguments (Lanczos, g = 7).
fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const FIRST: f64 = 0.999_999_999_999_809_9;
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Reflected, since the series is for larger arguments.
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let (mut sum, mut place) = (FIRST, x);
    for term in TERMS {
        place += 1.0;
        sum += term / place;
    }
    let base = x + G + 0.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1.0, 0.05, 12.706),
            (1.0, 0.01, 63.657),
            (2.0, 0.01, 9.925),
            (5.0, 0.01, 4.032),
            (10.0, 0.001, 4.587),
            (18.0, 0.01, 2.878),
            (30.0, 0.05, 2.042),
            (120.0, 0.01, 2.617),
            (1e6, 0.05, 1.960),
            (10.0, 0.9, 0.129),
        ];
        for (degrees, p, t) in table {
            let found = two_sided_quantile(p, degrees);
            assert!((found - t).abs() < 6e-4, "df {degrees}, p {p}: {found}, the table has {t}");
            assert!((two_sided_p(found, degrees) / p - 1.0).abs() < 1e-9, "df {degrees}, p {p}");
        }
    }

    #[test]
    fn tails_have_their_closed_forms() {
        for t in [0.1, 1.0, 3.0, 50.0, 1e6] {
            let one = 1.0 - 2.0 / std::f64::consts::PI * f64::atan(t);
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((two_sided_p(t, 1.0) - one).abs() < 1e-12, "df 1, t {t}");
            assert!((two_sided_p(t, 2.0) - two).abs() < 1e-12, "df 2, t {t}");
            assert!((two_sided_p(-t, 2.0) - two).abs() < 1e-12, "df 2, t -{t}");
        }
    }

    #[test]
    fn the_ends_are_told_as_such() {
        assert_eq!([two_sided_p(0.0, 5.0), two_sided_p(3.0, 0.0), two_sided_p(f64::INFINITY, 5.0)], [1.0, 1.0, 0.0]);
        assert!(two_sided_quantile(0.0, 5.0).is_infinite() && two_sided_quantile(0.01, 0.0).is_infinite());
    }
}
