import PostriderNotifications

/// Decides when the relay is asked to send notifications of low priority in groups, and tells it the battery's charge.
final class PowerSaver {
    /// When power is saved.
    var mode = PowerSaving.whenOnBattery {
        didSet { decide() }
    }

    private let supply: PowerSupply
    private let reception: ReceptionSender
    private var isOnBattery = false

    init(_ supply: PowerSupply, reception: ReceptionSender) {
        self.supply = supply
        self.reception = reception
    }

    /// Begins to follow the device's power supply.
    func start() {
        supply.start { [unowned self] state in
            isOnBattery = state.isOnBattery
            reception.batteryPercent = state.batteryPercent
            decide()
        }
    }

    private func decide() {
        reception.savesPower = mode == .always || (mode == .whenOnBattery && isOnBattery)
    }
}
