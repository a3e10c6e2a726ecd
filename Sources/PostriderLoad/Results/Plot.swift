import Glibc

/// A line plot as SVG. It is written here, so that the page is one file and needs no program to draw it.
struct Plot {
    /// A named line.
    struct Line {
        let name: String
        let points: [(x: Double, y: Double)]
    }

    let title: String
    let xLabel: String
    /// The unit of y.
    var unit = LoadMetrics.Unit.count
    var lines: [Line]
    /// Whether the y axis is logarithmic.
    var isLogarithmic = false
    /// The marks of the x axis and their labels; nil for whole numbers that fit.
    var xMarks: [(x: Double, text: String)]?

    private static let width = 760.0
    private static let height = 300.0
    private static let (left, right, top, bottom) = (76.0, 12.0, 34.0, 44.0)
    /// About the width of a character, in pixels.
    private static let letterWidth = 6.5
    /// Colours that people with any kind of colour vision can tell apart (Okabe and Ito).
    private static let colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]

    /// The `<svg>` element.
    var svg: String {
        let points = lines.flatMap(\.points).filter { $0.x.isFinite && $0.y.isFinite }
        guard let xAxis = Axis(points.map(\.x), isLogarithmic: false),
            let yAxis = Axis(points.map(\.y) + (isLogarithmic ? [] : [0]), isLogarithmic: isLogarithmic)
        else { return "" }
        func x(_ value: Double) -> Double {
            Self.left + xAxis.share(value) * (Self.width - Self.left - Self.right)
        }
        func y(_ value: Double) -> Double {
            Self.height - Self.bottom - yAxis.share(value) * (Self.height - Self.top - Self.bottom)
        }
        let size = "\(Int(Self.width)) \(Int(Self.height))"
        var parts = [
            "<svg viewBox=\"0 0 \(size)\" role=\"img\" aria-label=\"\(title)\">",
            Self.text(title, Self.left, 18, "title"),
            Self.text(xLabel, Self.width / 2, Self.height - 8, "middle"),
        ]
        for mark in yAxis.marks {
            parts.append(Self.line(from: Self.left, to: Self.width - Self.right, y(mark)))
            parts.append(Self.text(unit.text(mark), Self.left - 6, y(mark) + 4, "end"))
        }
        for mark in xMarks ?? xAxis.marks.map({ ($0, LoadMetrics.Unit.count.text($0)) }) {
            parts.append(Self.text(mark.text, x(mark.x), Self.height - Self.bottom + 16, "middle"))
        }
        var end = Self.width - Self.right
        for (index, line) in lines.enumerated() {
            let colour = Self.colours[index % Self.colours.count]
            var places = line.points.filter { $0.x.isFinite && $0.y.isFinite }
                .map { "\(Self.tenths(x($0.x))),\(Self.tenths(y($0.y)))" }
            // A line that ends where it begins is drawn as a dot; without it a single point would be invisible.
            if places.count == 1 { places += places }
            let path = places.joined(separator: " ")
            parts.append("<polyline points=\"\(path)\" stroke=\"\(colour)\"/>")
            parts.append("<g style=\"color:\(colour)\">")
            parts.append(Self.text(line.name, end, 18, "end") + "</g>")
            end -= Double(line.name.count) * Self.letterWidth + 18
        }
        return (parts + ["</svg>"]).joined(separator: "\n")
    }

    private static func text(_ text: String, _ x: Double, _ y: Double, _ style: String) -> String {
        "<text x=\"\(tenths(x))\" y=\"\(tenths(y))\" class=\"\(style)\">\(text)</text>"
    }

    private static func line(from left: Double, to right: Double, _ y: Double) -> String {
        "<path d=\"M\(tenths(left)) \(tenths(y))H\(tenths(right))\" class=\"grid\"/>"
    }

    private static func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}

/// Maps values to positions on an axis, from 0 to 1.
private struct Axis {
    let lower: Double
    let upper: Double
    let isLogarithmic: Bool
    /// Whether the smallest and the largest value differ.
    private let hasExtent: Bool

    /// Nil if there are no values.
    init?(_ values: [Double], isLogarithmic: Bool) {
        self.isLogarithmic = isLogarithmic
        let values = isLogarithmic ? values.filter { $0 > 0 }.map { log10($0) } : values
        guard let least = values.min(), let most = values.max() else { return nil }
        lower = isLogarithmic ? least.rounded(.down) : least
        upper = isLogarithmic ? max(most.rounded(.up), lower + 1) : max(most, least + 1e-9)
        hasExtent = isLogarithmic || most > least
    }

    func share(_ value: Double) -> Double {
        let value = isLogarithmic ? log10(max(value, 1e-9)) : value
        return min(max((value - lower) / (upper - lower), 0), 1)
    }

    /// About five round values.
    var marks: [Double] {
        guard hasExtent else { return [lower] }
        if isLogarithmic {
            return stride(from: lower, through: upper, by: 1).map { pow(10, $0) }
        }
        let rough = (upper - lower) / 5
        var step = pow(10, log10(rough).rounded(.down))
        step *= rough / step >= 5 ? 5 : rough / step >= 2 ? 2 : 1
        var marks: [Double] = []
        var mark = (lower / step).rounded(.up) * step
        while mark <= upper, marks.count < 20 {
            marks.append(mark)
            mark += step
        }
        return marks
    }
}
