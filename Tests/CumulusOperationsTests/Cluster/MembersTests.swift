// Tests the list of members with anything that a peer may write into it.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct MembersTests {
    /// Members' endpoints are dialled, logged and shown to operators.
    @Test func whatNoNodeCanBeCalledIsNotListed() throws {
        let store = try TestStore(seed: 1)
        let known = Bytes(repeating: 1, count: 16)
        let garbled = Bytes(repeating: 2, count: 16)
        let entries: [(key: Bytes, value: String)] = [
            (known, "127.0.0.1:7420"), (garbled, "a\n\u{1B}[2J:1"), ([0x78], "127.0.0.1:7421"),
        ]
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            for (key, value) in entries {
                let register = Commit.Register(
                    namespace: MemberRegister.namespace,
                    key: [key],
                    value: Bytes(value.utf8)
                )
                try ScopeRegisters(of: scope).set([register], &transaction)
            }
        }
        let members = try Members.all(in: store.reader)
        #expect(members.map(\.nodeID) == [known, garbled])
        #expect(members.map(\.endpoint) == ["127.0.0.1:7420", ""])
    }
}
