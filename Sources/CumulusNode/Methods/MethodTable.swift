// The methods of the protocol: all of them, with the needs of each and the handler that begins it.
//
// `OpenCalls+Opening` asks it for each call. Each family of calls lists its own; a new method takes
// a message, an entry in its family's list, and a handler. `MethodTableTests` compares the table
// with `proto/connection.proto` and with the table of `proto/methods.md`. hot: one look-up per
// call.
//
// Folder: what a method is. Read `MethodEntry`, then `MethodForms`, which says how methods read,
// change and answer, and `CallContext`, which is all that a handler gets.

import CumulusWire

enum MethodTable {
    /// All methods, by their numbers.
    static let entries: [MethodEntry] = families.flatMap(\.self).sorted {
        $0.method.rawValue < $1.method.rawValue
    }

    private static let families: [[MethodEntry]] = [
        RecordCalls.methods, QueryCalls.methods, ZoneCalls.methods, AccountCalls.methods,
        SignInCalls.methods, SessionCalls.methods, PeopleCalls.methods, KeyCalls.methods,
        ResetCalls.methods, WebAppCalls.methods, OperatorCalls.methods, PeerCalls.methods,
        ChangeCalls.methods, FollowCalls.methods, SchemaCalls.methods, IndexCalls.methods,
        AssetCalls.methods, SubscriptionCalls.methods, FeedCalls.methods, ShareCalls.methods,
        DeletionCalls.methods, OperatorTokenCalls.methods, PushCalls.methods,
    ]

    private static let byNumber: [MethodEntry?] = {
        let last = entries.map(\.method.rawValue).max() ?? 0
        var table = [MethodEntry?](repeating: nil, count: Int(last) + 1)
        for entry in entries { table[Int(entry.method.rawValue)] = entry }
        return table
    }()

    /// The method of a number; nil if this release does not know it.
    static func entry(_ number: UInt32) -> MethodEntry? {
        let number = Int(number)
        return number < byNumber.count ? byNumber[number] : nil
    }
}
