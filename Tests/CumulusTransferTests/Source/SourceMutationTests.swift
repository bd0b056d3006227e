// Answers with changed bytes: they are read, or refused with a place; nothing crashes.

import CumulusModel
import Testing

@testable import CumulusTransfer

@Suite struct SourceMutationTests {
    @Test(arguments: ServiceAnswer.names) func changedAnswersAreReadOrRefused(name: String) throws {
        let bytes = try ServiceAnswer.bytes(name)
        var dice = SeededGenerator(seed: 56)
        var (read, refused) = (0, 0)
        for _ in 0..<1_500 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...3, using: &dice) {
                let place = Int.random(in: 0..<changed.count, using: &dice)
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: changed[place] = .random(in: 0...255, using: &dice)
                case 1: changed.remove(at: place)
                case 2: changed.insert(UInt8.random(in: 0x20...0x7E, using: &dice), at: place)
                default: changed = Array(changed.prefix(place))
                }
                if changed.isEmpty { changed = [0x7B] }
            }
            do {
                try take(JSONReader.read(changed))
                read += 1
            } catch is JSONReader.Problem {
                refused += 1
            } catch is SourceProblem {
                refused += 1
            } catch is SourceRefusalError {
                refused += 1
            }
        }
        #expect(read > 0 && refused > 0, "\(read) read, \(refused) refused")
    }

    /// Members that are missing, null, or of another kind.
    @Test(arguments: ServiceAnswer.names) func changedMembersAreReadOrRefused(name: String) throws {
        let json = try ServiceAnswer.json(name)
        let others: [JSON?] = [
            nil, .null, .integer(-1), "text", .array([]), .object([]), .bool(true),
        ]
        for other in others {
            for place in 0..<json.memberCount {
                var left = place
                let changed = json.replacingMember(&left, with: other)
                do {
                    try take(changed)
                } catch is SourceProblem {
                    continue
                } catch is SourceRefusalError {
                    continue
                }
            }
        }
    }

    /// Reads it as whatever it may be; the first reader that takes it decides.
    private func take(_ json: JSON) throws {
        if json["subscriptions"] != nil {
            guard case .array(let entries)? = json["subscriptions"] else { return }
            for entry in entries {
                _ = try Subscription(source: entry, at: "s", for: "") { $0 }
            }
        } else if json["records"] != nil {
            _ = try SourceQueryPage(json, in: "_defaultZone")
        } else if json["zones"]?.first?["records"] != nil {
            _ = try SourceZoneChanges.read(json, in: "Trips").get()
        } else {
            _ = try SourceDatabaseChanges(json)
        }
    }
}

extension JSON {
    fileprivate var first: JSON? {
        if case .array(let elements) = self { elements.first } else { nil }
    }

    /// Members of all objects in it.
    fileprivate var memberCount: Int {
        switch self {
        case .object(let members): members.reduce(members.count) { $0 + $1.value.memberCount }
        case .array(let elements): elements.reduce(0) { $0 + $1.memberCount }
        default: 0
        }
    }

    /// Replaces the member of that number, counted in the order of the text; nil takes it away.
    fileprivate func replacingMember(_ left: inout Int, with other: JSON?) -> JSON {
        switch self {
        case .object(let members):
            var changed: [Member] = []
            for member in members {
                left -= 1
                if left == -1 {
                    if let other { changed.append(Member(member.key, other)) }
                } else {
                    let value = member.value.replacingMember(&left, with: other)
                    changed.append(Member(member.key, value))
                }
            }
            return .object(changed)
        case .array(let elements):
            var changed: [JSON] = []
            for element in elements {
                changed.append(element.replacingMember(&left, with: other))
            }
            return .array(changed)
        default: return self
        }
    }
}
