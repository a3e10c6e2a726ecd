import PostriderTransport
import Testing

@testable import PostriderSystem

@Suite("Users")
struct UserAccountTests {
    @Test(
        "are known by name and by number",
        arguments: [("root", 0), ("0", 0), ("4711", 4711), ("no such user", nil)])
    func identifiers(user: String, identifier: UInt32?) {
        #expect(UserAccount.identifier(of: user) == identifier)
    }
}
