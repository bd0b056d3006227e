// Engines beside each other: the order of events, batches, conflicts in both orders, and two
// devices that end with the same notes whatever their users did.

import CumulusCloudKit
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct EngineTests {
    private let zone = CKRecordZone.ID(zoneName: "Notes")

    private func id(_ name: String) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zone)
    }

    /// A device with its engine.
    private struct Station {
        let device: NotesDevice
        let engine: CKSyncEngine

        init(_ name: String, _ container: CKContainer) {
            device = NotesDevice(name)
            engine = device.engine(container.privateCloudDatabase)
        }

        func sync() async throws {
            try await send()
            try await engine.fetchChanges()
        }

        /// Sends until nothing is refused: the device adds again what it has mended.
        func send() async throws {
            for _ in 0..<8 {
                do {
                    return try await engine.sendChanges()
                } catch CKError.partialFailure {
                    if isDone { return }
                }
            }
        }

        var notes: [CKRecord.ID: NotesDevice.Note] { device.read(\.notes) }
        var isDone: Bool {
            engine.state.pendingRecordZoneChanges.isEmpty
                && engine.state.pendingDatabaseChanges.isEmpty
        }
    }

    /// Runs a test with two devices of one account, and a way to make further ones.
    private func withDevices(
        _ body: (Station, Station, CKContainer) async throws -> Void
    ) async throws {
        try await Cloud.run { cloud in
            let token = try await cloud.server.makeUser("ada")
            try await cloud.with(cloud.connection(token, device: "phone")) { phone in
                try await cloud.with(cloud.connection(token, device: "tablet")) { tablet in
                    try await body(Station("phone", phone), Station("tablet", tablet), tablet)
                }
            }
        }
    }

    @Test func eventsComeInTheirOrderFromAnEmptyState() async throws {
        try await withDevices { phone, tablet, _ in
            phone.device.make(zone, phone.engine)
            phone.device.edit(id("a"), 1, phone.engine)
            try await phone.engine.sendChanges()
            #expect(
                phone.device.read(\.events) == [
                    "accountChange", "willSendChanges", "sentDatabaseChanges",
                    "sentRecordZoneChanges", "didSendChanges",
                ]
            )
            #expect(phone.device.read(\.state) != nil)
            try await tablet.engine.fetchChanges()
            #expect(
                tablet.device.read(\.events) == [
                    "accountChange", "willFetchChanges", "fetchedDatabaseChanges",
                    "willFetchRecordZoneChanges", "fetchedRecordZoneChanges",
                    "didFetchRecordZoneChanges", "didFetchChanges",
                ]
            )
            #expect(tablet.notes == phone.notes)
            // There is nothing new, and the user is known.
            try await tablet.engine.fetchChanges()
            #expect(
                Array(tablet.device.read(\.events).dropFirst(7)) == [
                    "willFetchChanges", "didFetchChanges",
                ]
            )
        }
    }

    @Test func aLongSendIsCutIntoBatches() async throws {
        try await withDevices { phone, tablet, _ in
            phone.device.make(zone, phone.engine)
            for number in 0..<444 { phone.device.edit(id("n\(number)"), number, phone.engine) }
            try await phone.engine.sendChanges()
            #expect(phone.device.read(\.batches) == [400, 44])
            #expect(phone.isDone && phone.device.read(\.problems).isEmpty)
            try await tablet.engine.fetchChanges()
            #expect(tablet.notes.count == 444 && tablet.notes == phone.notes)
        }
    }

    /// A refusal is told to the delegate, and then to the caller; what the device adds again waits
    /// for the next send.
    @Test func aRefusedSaveIsThrownAndWaits() async throws {
        try await withDevices { phone, tablet, _ in
            phone.device.make(zone, phone.engine)
            phone.device.edit(id("a"), 1, phone.engine)
            try await phone.sync()
            try await tablet.sync()
            phone.device.edit(id("a"), 2, phone.engine)
            try await phone.engine.sendChanges()
            let told = tablet.device.read(\.events).count
            tablet.device.edit(id("a"), 3, tablet.engine)
            let refusal = await failure { try await tablet.engine.sendChanges() }
            #expect(refusal?.code == .partialFailure)
            #expect(
                Array(tablet.device.read(\.events).dropFirst(told)) == [
                    "willSendChanges", "sentRecordZoneChanges", "didSendChanges",
                ]
            )
            #expect(tablet.engine.state.pendingRecordZoneChanges == [.saveRecord(id("a"))])
            try await tablet.engine.sendChanges()
            #expect(tablet.isDone && tablet.notes[id("a")]?.edits == [1, 2, 3])
        }
    }

    /// Whichever device sends first, the other one merges, and nothing is lost.
    @Test(arguments: [false, true])
    func editsMeetInBothOrders(isSwapped: Bool) async throws {
        try await withDevices { phone, tablet, _ in
            phone.device.make(zone, phone.engine)
            phone.device.edit(id("both"), 1, phone.engine)
            phone.device.edit(id("gone"), 1, phone.engine)
            try await phone.sync()
            try await tablet.sync()
            phone.device.edit(id("both"), 2, phone.engine)
            tablet.device.edit(id("both"), 3, tablet.engine)
            phone.device.delete(id("gone"), phone.engine)
            tablet.device.edit(id("gone"), 4, tablet.engine)
            let (first, second) = isSwapped ? (tablet, phone) : (phone, tablet)
            for _ in 0..<3 {
                try await first.sync()
                try await second.sync()
            }
            #expect(phone.notes == tablet.notes && phone.isDone && tablet.isDone)
            #expect(phone.notes[id("both")]?.edits == [1, 2, 3])
            // An edit that comes after the deletion makes the note anew.
            #expect(phone.notes[id("gone")]?.edits == (isSwapped ? nil : [1, 4]))
            for station in [phone, tablet] { #expect(station.device.read(\.problems).isEmpty) }
        }
    }

    @Test(arguments: 1...6)
    func devicesConverge(seed: UInt64) async throws {
        try await withDevices { phone, tablet, container in
            var dice = Dice(state: seed)
            phone.device.make(zone, phone.engine)
            for step in 0..<60 {
                let station = dice.next(2) == 0 ? phone : tablet
                let (device, engine) = (station.device, station.engine)
                let note = id("n\(dice.next(6))")
                let hasZone = device.read { $0.zones.contains(zone) }
                let hasNote = device.read { $0.notes[note] != nil }
                let isDeleting = engine.state.pendingDatabaseChanges.contains(.deleteZone(zone))
                switch dice.next(20) {
                case 0..<7 where hasZone: device.edit(note, step, engine)
                case 7..<9 where hasNote:
                    device.rename(note, "\(100 + step) \(device.name)", engine)
                case 9..<11 where hasNote: device.delete(note, engine)
                case 11 where hasNote: device.move(note, to: id("n\(dice.next(6))"), engine)
                case 12 where hasZone: device.delete(zone, engine)
                // A zone that is made again before its deletion is sent is not deleted at all.
                case 13 where !isDeleting: device.make(zone, engine)
                case 14..<17: try await station.send()
                default: try await engine.fetchChanges()
                }
            }
            // What the last device has not sent may be for a zone that is gone.
            var rounds = 0
            repeat {
                try await phone.sync()
                try await tablet.sync()
                try await phone.engine.fetchChanges()
                rounds += 1
            } while rounds < 10 && !(phone.isDone && tablet.isDone && phone.notes == tablet.notes)
            #expect(phone.isDone && tablet.isDone, "seed \(seed)")
            #expect(phone.notes == tablet.notes, "seed \(seed)")
            for station in [phone, tablet] {
                #expect(station.device.read(\.problems) == [], "seed \(seed)")
            }
            // A new device, which knows nothing, finds the same.
            let third = Station("third", container)
            try await third.engine.fetchChanges()
            #expect(third.notes == phone.notes, "seed \(seed)")
        }
    }

    /// Numbers that a seed decides.
    private struct Dice {
        var state: UInt64

        mutating func next(_ bound: UInt64) -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return (value ^ (value >> 31)) % bound
        }
    }
}
