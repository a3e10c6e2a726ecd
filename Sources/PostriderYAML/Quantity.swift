/// Numbers with a unit, as people write them in a configuration.
public struct Quantity: Sendable {
    /// A description of the accepted form, for error sentences.
    public let form: String
    /// The units in ascending order, each with its value in the unit that programs use.
    private let units: [(name: String, worth: Int)]

    /// Durations in milliseconds.
    public static let time = Quantity(
        form: "a length of time such as 250ms, 10s, 5m, 2h or 30d",
        units: [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)])
    /// Sizes in bytes.
    public static let memory = Quantity(
        form: "an amount of memory such as 512, 64KiB, 10MiB or 1GiB",
        units: [("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)])

    /// The number that a text stands for; nil if the text has another form.
    public func value(of text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count).drop { $0 == " " }
        guard let number = Int(digits), let worth = units.first(where: { $0.name == unit })?.worth else {
            return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: worth)
        return overflow ? nil : product
    }

    /// The text for a number, in the largest unit that needs no fraction.
    func text(of value: Int) -> String {
        guard let unit = units.last(where: { value != 0 && value % $0.worth == 0 }) ?? units.first else {
            preconditionFailure("a quantity has one unit at least")
        }
        return "\(value / unit.worth)\(unit.name)"
    }
}
