import FoundationEssentials

/// Lists as text output.
package enum Listing {
    /// Rows in aligned columns, below their titles.
    package static func columns(_ titles: [String], _ rows: [[String]]) -> String {
        let table = ([titles] + rows).map { $0.map(printable) }
        let widths = titles.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { row in
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }

    /// A name, followed by a text that starts at a column.
    package static func fact(_ name: String, _ text: String, from column: Int) -> String {
        name + String(repeating: " ", count: max(column - name.count, 1)) + text
    }

    /// A moment in milliseconds since 1970 as text.
    package static func time(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
    }

    /// A moment in milliseconds since 1970 as text, with its milliseconds. Such texts sort like their moments. (A date
    /// that is formatted with its fraction loses some.)
    package static func preciseTime(_ milliseconds: Int64) -> String {
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        return time(milliseconds / 1000 * 1000).dropLast() + ".\(fraction)Z"
    }

    /// The text without control characters that a terminal would obey, because a device chooses its own name.
    package static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: "?"
                    default: scalar
                    }
                }))
    }
}
