/// Prometheus' text format, version 0.0.4 ("Exposition formats", "Text-based format").
public enum PrometheusText {
    /// The media type of the format.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The text of metric families with different names. A family without samples is left out.
    public static func text(of families: [MetricFamily]) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty {
            text += "# HELP \(family.name) \(escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                text += family.name + sample.suffix
                write(sample.labels, to: &text)
                text += " \(number(sample.value))\n"
            }
        }
        return text
    }

    private static func write(_ labels: [MetricFamily.Label], to text: inout String) {
        guard !labels.isEmpty else { return }
        text += "{"
        for (index, label) in labels.enumerated() {
            if index > 0 { text += "," }
            text += "\(label.name)=\"\(escaped(label.value, quotes: true))\""
        }
        text += "}"
    }

    private static func number(_ value: MetricFamily.Value) -> String {
        switch value {
        case .integer(let number): "\(number)"
        case .unsigned(let number): "\(number)"
        case .fraction(let number) where number.isNaN: "NaN"
        case .fraction(let number) where number.isInfinite: number < 0 ? "-Inf" : "+Inf"
        case .fraction(let number): "\(number)"
        }
    }

    /// Nanoseconds as seconds, exact and without trailing zeros, for the label `le`.
    static func seconds(_ nanoseconds: UInt64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard rest > 0 else { return "\(whole)" }
        var digits = String(rest)
        digits = String(repeating: "0", count: 9 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(whole).\(digits)"
    }

    /// Escapes backslashes, line feeds and, in label values, quotes.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        guard text.utf8.contains(where: { $0 == 0x5C || $0 == 0x0A || (quotes && $0 == 0x22) }) else {
            return text
        }
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
