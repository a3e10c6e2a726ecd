import Notifications

/// The registrations of a device, in the order of their numbers. Most devices have a few: one is found by halving,
/// which takes no hash and touches less memory than a dictionary.
struct RegistrationTable: RandomAccessCollection {
    private(set) var numbers: [RegistrationNumber] = []
    private(set) var values: [Device.Registration] = []

    var startIndex: Int { 0 }
    var endIndex: Int { numbers.count }

    subscript(place: Int) -> (key: RegistrationNumber, value: Device.Registration) {
        (numbers[place], values[place])
    }

    /// The registration with a number; nil: there is none.
    subscript(number: RegistrationNumber) -> Device.Registration? {
        place(of: number).map { values[$0] }
    }

    /// Where the registration with a number is; nil: there is none.
    func place(of number: RegistrationNumber) -> Int? {
        let place = firstPlace(from: number)
        return place < numbers.count && numbers[place] == number ? place : nil
    }

    /// Puts a registration in the place of the one with this number, if there is one.
    mutating func put(_ registration: Device.Registration, as number: RegistrationNumber) {
        let place = firstPlace(from: number)
        if place < numbers.count, numbers[place] == number {
            values[place] = registration
        } else {
            numbers.insert(number, at: place)
            values.insert(registration, at: place)
        }
    }

    /// Changes the registration at a place.
    mutating func update<Result>(at place: Int, _ change: (inout Device.Registration) -> Result) -> Result {
        change(&values[place])
    }

    /// The first place whose number is this one or a later one.
    private func firstPlace(from number: RegistrationNumber) -> Int {
        var (low, high) = (0, numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
