// The connections that get in, and the ones that give way.

import Testing

@testable import CumulusGateway

@Suite struct ConnectionTableTests {
    private typealias Entry = ConnectionEntry<Int>

    private static let few = ConnectionBounds(most: 6, ofOneCaller: 4, reserve: 2)

    private func address(_ last: UInt8) -> [UInt8] { [192, 0, 2, last] }

    /// Connections 1 to `count` of one address.
    private func table(_ count: Int, from last: UInt8 = 1) -> ConnectionTable<Int> {
        var table = ConnectionTable<Int>(Self.few)
        for id in 1...count {
            let entry = table.enter(id, from: address(last), isProxy: false)
            #expect(entry == Entry(isIn: true))
        }
        return table
    }

    @Test func oneCallerHasNoMoreThanItsShare() {
        var table = table(4)
        #expect(table.enter(5, from: address(1), isProxy: false) == Entry(isIn: true, victim: 1))
        table.note(2, .answering)
        #expect(table.enter(6, from: address(1), isProxy: false) == Entry(isIn: true, victim: 3))
        #expect(table.enter(7, from: address(2), isProxy: false) == Entry(isIn: true))
        #expect(table.count == 5)
    }

    /// With IPv6, all addresses of a network belong to one caller.
    @Test func aNetworkOfIPv6IsOneCaller() {
        var table = ConnectionTable<Int>(Self.few)
        for id in 1...5 {
            let network: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 7]
            let address = network + [UInt8](repeating: UInt8(id), count: 8)
            let entry = table.enter(id, from: address, isProxy: false)
            #expect(entry == Entry(isIn: true, victim: id == 5 ? 1 : nil))
        }
    }

    @Test func inAFullRoomTheOneWithTheMostGivesWay() {
        var table = table(4)
        for id in 5...6 { _ = table.enter(id, from: address(2), isProxy: false) }
        // Idle ones go first, whatever their age.
        table.note(1, .body)
        #expect(table.enter(7, from: address(3), isProxy: false) == Entry(isIn: true, victim: 2))
        #expect(table.enter(8, from: address(4), isProxy: false) == Entry(isIn: true, victim: 3))
        for id in [1, 4] { table.note(id, .answering) }
        #expect(table.enter(9, from: address(5), isProxy: false) == Entry(isIn: true, victim: 5))
        #expect(table.count == 6)
    }

    /// A caller does not gain connections from callers that have as few.
    @Test func equalsDoNotGiveWay() {
        var table = ConnectionTable<Int>(Self.few)
        for id in 1...6 { _ = table.enter(id, from: address(UInt8(id)), isProxy: false) }
        #expect(table.enter(7, from: address(1), isProxy: false) == Entry(isIn: true, victim: 1))
        table.note(7, .answering)
        #expect(table.enter(8, from: address(1), isProxy: false) == Entry(isIn: true))
        #expect(!table.begin(8, from: nil, .none).isIn, "it is in the reserve")
        // A caller without a connection gets the place of the oldest.
        #expect(table.enter(9, from: address(9), isProxy: false) == Entry(isIn: true, victim: 2))
        #expect(table.begin(9, from: nil, .none).isIn)
    }

    @Test func theReserveIsForOperators() {
        var table = ConnectionTable<Int>(Self.few)
        for id in 1...6 {
            _ = table.enter(id, from: address(UInt8(id)), isProxy: false)
            table.note(id, .answering)
        }
        for id in 7...8 {
            #expect(table.enter(id, from: address(UInt8(id)), isProxy: false).victim == nil)
            #expect(!table.begin(id, from: nil, .none).isIn)
        }
        // A stranger does not keep a place there, whatever it asks for.
        #expect(table.begin(7, from: nil, .page).isIn)
        table.note(7, .answering)
        #expect(table.enter(9, from: address(9), isProxy: false).victim == 8)
        #expect(table.begin(9, from: nil, .ofOperator).isIn)
        table.note(9, .answering)
        #expect(table.enter(10, from: address(10), isProxy: false).victim == 7)
        #expect(table.begin(10, from: nil, .ofOperator).isIn)
        table.note(10, .answering)
        #expect(table.enter(11, from: address(11), isProxy: false) == Entry(isIn: false))
        table.note(9, .idle)
        #expect(table.enter(12, from: address(12), isProxy: false).victim == 9)
        // Where the room is not full any more, everybody is answered.
        table.remove(1)
        #expect(table.begin(12, from: nil, .none).isIn)
    }

    @Test func aProxyIsAsManyCallersAsItSpeaksFor() {
        var table = ConnectionTable<Int>(Self.few)
        for id in 1...6 {
            let entry = table.enter(id, from: address(1), isProxy: true)
            #expect(entry == Entry(isIn: true), "it has more than one caller may have")
        }
        for id in 1...4 {
            #expect(table.begin(id, from: address(2), .none) == Entry(isIn: true))
            table.note(id, .answering)
        }
        #expect(table.begin(5, from: address(2), .none) == Entry(isIn: false))
        #expect(table.begin(5, from: address(3), .none) == Entry(isIn: true))
        // The caller with a body that does not come makes room for its own next request.
        table.note(4, .body)
        #expect(table.begin(6, from: address(2), .none) == Entry(isIn: true, victim: 4))
        // Between requests a connection is nobody's.
        table.note(1, .idle)
        #expect(table.begin(1, from: address(3), .none) == Entry(isIn: true))
        // From others such an address does not count.
        #expect(table.enter(7, from: address(9), isProxy: false) == Entry(isIn: true))
        #expect(table.begin(7, from: address(2), .none) == Entry(isIn: true))
    }

    /// The sums stay right, whatever happens in whatever order.
    @Test func nothingIsCountedTwice() {
        var dice = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            var table = ConnectionTable<Int>(Self.few)
            var open: Set<Int> = []
            for id in 0..<300 {
                let from = address(UInt8.random(in: 1...5, using: &dice))
                let entry = table.enter(id, from: from, isProxy: Bool.random(using: &dice))
                if entry.isIn { open.insert(id) }
                if let victim = entry.victim { open.remove(victim) }
                guard let other = open.randomElement(using: &dice) else { continue }
                switch Int.random(in: 0..<5, using: &dice) {
                case 0:
                    let victim = table.begin(other, from: from, .none).victim
                    if let victim { open.remove(victim) }
                case 1: table.note(other, .answering)
                case 2: table.note(other, .body)
                case 3: table.note(other, .idle)
                default:
                    table.remove(other)
                    open.remove(other)
                }
                #expect(table.count == open.count && table.count <= 8)
            }
        }
    }
}
