import FoundationEssentials
import PostriderNotifications
import PostriderTransport

/// Whether the device runs on its battery, and how much is in it, as the kernel says in `/sys/class/power_supply`
/// (Documentation/ABI/testing/sysfs-class-power). The kernel announces changes only on its own bus, so the files are
/// read once a minute.
final class PowerSupply {
    /// The state of the power supply, as the kernel reports it.
    struct State: Equatable {
        /// Whether a battery is discharging and nothing else supplies the device.
        var isOnBattery = false
        /// The charge of its batteries, in percent; nil if no battery says so.
        var batteryPercent: Int?

        /// Whether this is worth a message to the relay after `other`: the device wakes its radio for it.
        func differs(from other: State) -> Bool {
            guard isOnBattery == other.isOnBattery, let now = batteryPercent, let then = other.batteryPercent
            else { return self != other }
            return abs(now - then) >= PowerSupply.leastChange
        }
    }

    private let directory: String
    private var changed: ((State) -> Void)?
    private var told = State()
    private var timer: (any LoopTimer)?

    /// Milliseconds between two readings.
    private static let period = 60_000
    /// Percent by which the charge must have changed to be told again.
    private static let leastChange = 5

    /// - Parameter directory: the kernel's directory of power supplies.
    init(_ directory: String = "/sys/class/power_supply", on scheduler: any Scheduler) {
        self.directory = directory
        timer = scheduler.makeTimer { [unowned self] in look() }
    }

    /// Reads the power supplies, and goes on doing so. A device without a battery is read only once.
    ///
    /// - Parameter changed: called whenever the answer changes; the first assumption is that the device is not on its
    ///   battery. Small changes of the charge are not worth a call.
    func start(changed: @escaping (State) -> Void) {
        self.changed = changed
        if Self.hasBattery(directory) { look() }
    }

    private func look() {
        timer?.arm(afterMilliseconds: Self.period)
        let present = State(
            isOnBattery: Self.isOnBattery(directory), batteryPercent: Self.batteryPercent(directory))
        guard present.differs(from: told) else { return }
        told = present
        changed?(present)
    }

    private static func supplies(_ directory: String) -> [(type: String, path: String)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.sorted().map { (word(directory + "/\($0)/type"), directory + "/\($0)") }
    }

    /// Whether the device itself has a battery.
    static func hasBattery(_ directory: String) -> Bool { supplies(directory).contains(where: isBattery) }

    /// Whether this is the device's battery, and not that of a mouse.
    private static func isBattery(_ supply: (type: String, path: String)) -> Bool {
        supply.type == "Battery" && word(supply.path + "/scope") != "Device"
    }

    /// Whether a battery is discharging and nothing else supplies the device.
    static func isOnBattery(_ directory: String) -> Bool {
        let supplies = supplies(directory)
        let batteries = supplies.filter(isBattery)
        let hasMains = supplies.contains { $0.type != "Battery" && word($0.path + "/online") == "1" }
        return !hasMains && batteries.contains { word($0.path + "/status") == "Discharging" }
    }

    /// The mean charge of the device's batteries, in percent; nil if none says so.
    static func batteryPercent(_ directory: String) -> Int? {
        let charges = supplies(directory).filter(isBattery).compactMap { Int(word($0.path + "/capacity")) }
            .filter { 0...100 ~= $0 }
        return charges.isEmpty ? nil : charges.reduce(0, +) / charges.count
    }

    private static func word(_ path: String) -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return "" }
        return text.trimmed
    }
}
