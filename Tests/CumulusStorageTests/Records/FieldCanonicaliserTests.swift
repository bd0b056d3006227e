// What a request's fields become, and which ones are refused and why.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct FieldCanonicaliserTests {
    /// The body of fields given as the bytes of their messages.
    private static func body(_ fields: [Bytes]) throws(ServiceError) -> Bytes {
        var canonicaliser = FieldCanonicaliser(
            zoneName: "home",
            zoneOwners: ["_u", "__defaultOwner__"]
        )
        for field in fields { try canonicaliser.add(field) }
        return try canonicaliser.finish().bytes
    }

    /// A field named `f` with what `write` adds to it.
    private static func field(_ write: (inout CanonicalWriter) -> Void) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, text: "f")
        write(&writer)
        return writer.bytes
    }

    private static let place: Location = {
        var place = Location(latitude: -90, longitude: 180)
        place.altitude = 0
        place.horizontalAccuracy = 1
        place.verticalAccuracy = 2
        place.course = 3
        place.speed = 4
        place.timestamp = Timestamp(millisecondsSince1970: -1)
        return place
    }()

    static let values: [FieldValue] = [
        .string(""), .string("é漢\u{0}"), .int64(.min), .int64(0), .double(-0.0), .double(.infinity),
        .timestamp(Timestamp(millisecondsSince1970: Timestamp.range.lowerBound)),
        .timestamp(Timestamp(millisecondsSince1970: Timestamp.range.upperBound)),
        .bytes([]), .bytes([0, 0xFF]), .location(Location(latitude: 0, longitude: 0)),
        .location(place), .link("r"), .owner("r"),
        .asset(Asset(digest: Bytes(repeating: 7, count: 32), size: 0)),
    ]

    @Test(arguments: values)
    func everyKindAndItsListIsKept(value: FieldValue) throws {
        let lists: [FieldValue] = [.list([value]), .list([value, value]), .list([])]
        for kept in [value] + lists {
            let bytes = try Self.body([WireField.encode("f", kept)])
            #expect(bytes == WireField.body(["f": kept]))
            let entry = try #require(try RecordBody(stored: bytes).entries.first)
            if case .list(let elements) = kept {
                let kind = try #require(value.kind)
                #expect(entry.type == (elements.isEmpty ? .emptyList : .list(kind)))
            } else {
                #expect(entry.type == value.kind.map { .one($0) })
            }
        }
    }

    private static func encrypted(_ kind: UInt64, isList: UInt64, _ sealed: Bytes) -> Bytes {
        field {
            $0.message(11) {
                $0.field(1, varint: kind)
                $0.field(2, varint: isList)
                $0.field(3, bytes: sealed)
            }
        }
    }

    @Test(arguments: UInt64(2)...7)
    func sealedValuesAreKeptWithTheirType(kind: UInt64) throws {
        let known = try #require(FieldKind(number: Int(kind)))
        for (isList, type) in [(0, FieldType.encrypted(known)), (1, .encryptedList(known))] {
            let bytes = try Self.body([Self.encrypted(kind, isList: UInt64(isList), [0, 7])])
            #expect(try RecordBody(stored: bytes).entries.map(\.type) == [type])
            #expect(FieldType(name: type.name) == type)
        }
        // Whatever is true is 1 in the canonical form.
        let spelled = try Self.body([Self.encrypted(kind, isList: 300, [0, 7])])
        #expect(spelled == (try Self.body([Self.encrypted(kind, isList: 1, [0, 7])])))
    }

    @Test func aSealedListWithoutElementsHasNoKind() throws {
        let bytes = try Self.body([Self.encrypted(0, isList: 1, [1])])
        #expect(try RecordBody(stored: bytes).entries.map(\.type) == [.encryptedEmptyList])
    }

    @Test func aFieldWithoutAValueIsARemoval() throws {
        let bytes = try Self.body([Self.field { _ in }])
        #expect(try RecordBody(stored: bytes).entries.map(\.type) == [nil])
    }

    @Test(arguments: UInt64(1)...4)
    func fieldsInAnyOrderBecomeTheSameBody(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let fields = RandomFields.fields(upTo: 10, using: &dice)
            let encoded = fields.map { WireField.encode($0.key, $0.value) }.shuffled(using: &dice)
            #expect(try Self.body(encoded) == WireField.body(fields))
        }
    }

    // MARK: What protobuf allows beside the canonical form

    static let spellings: [(String, Bytes, FieldValue)] = [
        ("the value before the name", [0x18, 2, 0x0A, 1, 0x66], 1),
        ("a long varint", [0x0A, 1, 0x66, 0x18, 0x82, 0x80, 0], 1),
        ("a long length", [0x0A, 0x81, 0, 0x66, 0x12, 0x81, 0x80, 0, 0x61], "a"),
        (
            "an unpacked list",
            field {
                $0.message(10) { list in
                    list.present(3, signed: 1)
                    list.present(3, signed: 2)
                }
            }, [1, 2]
        ),
        (
            "a list packed in two runs",
            field {
                $0.message(10) { list in
                    list.present(3, bytes: [2])
                    list.present(3, signed: 2)
                    list.present(3, bytes: [6, 0x88, 0])
                }
            }, [1, 2, 3, 4]
        ),
        (
            "an unpacked list of doubles", field { $0.message(10) { $0.present(4, double: 1.5) } },
            [1.5]
        ),
        ("an empty run", field { $0.message(10) { $0.present(3, bytes: []) } }, []),
        (
            "a location's defaults, spelled out",
            field {
                $0.message(7) { place in
                    place.present(2, double: 0)
                    place.present(1, double: 0)
                }
            }, .location(Location(latitude: 0, longitude: 0))
        ),
        (
            "a reference with its own zone",
            field {
                $0.message(8) { reference in
                    reference.message(3) { $0.field(1, text: "home") }
                    reference.field(2, varint: 1)
                    reference.field(1, text: "r")
                }
            }, .owner("r")
        ),
        (
            "a reference with zone and owner",
            field {
                $0.message(8) { reference in
                    reference.field(1, text: "r")
                    reference.message(3) {
                        $0.field(1, text: "home")
                        $0.field(2, text: "_u")
                    }
                }
            }, .link("r")
        ),
        (
            "a reference's default action",
            field {
                $0.message(8) { reference in
                    reference.field(1, text: "r")
                    reference.tag(2, .varint)
                    reference.varint(0)
                }
            }, .link("r")
        ),
    ]

    @Test(arguments: spellings)
    func otherSpellingsBecomeCanonical(what: String, bytes: Bytes, value: FieldValue) throws {
        #expect(try Self.body([bytes]) == WireField.body(["f": value]))
    }

    // MARK: Refusals

    private static func timestamp(_ milliseconds: Int64) -> Bytes {
        field { $0.present(5, signed: milliseconds) }
    }

    private static func location(_ latitude: Double, _ longitude: Double) -> Bytes {
        field {
            $0.message(7) { place in
                place.present(1, double: latitude)
                place.present(2, double: longitude)
            }
        }
    }

    private static func reference(_ name: String, zone: String, owner: String = "") -> Bytes {
        field {
            $0.message(8) { reference in
                reference.field(1, text: name)
                reference.message(3) {
                    $0.field(1, text: zone)
                    $0.field(2, text: owner)
                }
            }
        }
    }

    static let refusals: [(String, Bytes)] = [
        ("NaN", field { $0.present(4, double: .nan) }),
        ("NaN", field { $0.message(10) { $0.present(4, double: .nan) } }),
        ("years 1 to 9999", timestamp(Timestamp.range.lowerBound - 1)),
        ("years 1 to 9999", timestamp(Timestamp.range.upperBound + 1)),
        ("years 1 to 9999", timestamp(.min)),
        ("latitude", location(90.000001, 0)),
        ("latitude", location(-.infinity, 0)),
        ("longitude", location(0, -180.000001)),
        ("NaN", location(.nan, 0)),
        ("years 1 to 9999", field { $0.message(7) { $0.present(8, signed: .max) } }),
        ("location holds something unknown", field { $0.message(7) { $0.present(9, double: 1) } }),
        (
            "mixes types",
            field {
                $0.message(10) { list in
                    list.present(3, signed: 1)
                    list.present(2, bytes: [0x61])
                }
            }
        ),
        ("kind of value", field { $0.message(10) { $0.message(10) { _ in } } }),
        ("kind of value", field { $0.present(11, signed: 1) }),
        ("kind of value", field { $0.message(10) { $0.message(11) { _ in } } }),
        ("can't be encrypted", encrypted(0, isList: 0, [1])),
        ("can't be encrypted", encrypted(8, isList: 0, [1])),
        ("can't be encrypted", encrypted(9, isList: 1, [1])),
        ("can't be encrypted", encrypted(11, isList: 0, [1])),
        ("can't be encrypted", encrypted(.max, isList: 1, [1])),
        ("value is empty", encrypted(2, isList: 0, [])),
        ("encrypted value holds something", field { $0.message(11) { $0.present(4, signed: 1) } }),
        ("encrypted value holds something", field { $0.message(11) { $0.present(3, signed: 1) } }),
        ("count is too large", field { $0.present(11, bytes: [0x1A, 5, 1]) }),
        ("kind of value", field { $0.present(258, bytes: [0x61]) }),
        ("not valid UTF-8", field { $0.present(2, bytes: [0xC3]) }),
        ("not valid UTF-8", field { $0.message(10) { $0.present(2, bytes: [0xFF]) } }),
        ("wrong wire type", field { $0.present(2, signed: 1) }),
        ("wrong wire type", field { $0.present(3, bytes: [1]) }),
        ("wrong wire type", field { $0.present(4, signed: 1) }),
        (
            "two values",
            field {
                $0.present(3, signed: 1)
                $0.present(3, signed: 1)
            }
        ),
        (
            "two names",
            field {
                $0.field(1, text: "g")
                $0.present(3, signed: 1)
            }
        ),
        ("must not be empty", [0x18, 2]),
        ("letter", [0x0A, 2, 0x5F, 0x66, 0x18, 2]),
        ("letters, digits", [0x0A, 2, 0x66, 0x20, 0x18, 2]),
        ("NUL", [0x0A, 2, 0x66, 0, 0x18, 2]),
        ("valid UTF-8", [0x0A, 1, 0xFF, 0x18, 2]),
        ("256 bytes", [0x0A, 0x80, 2] + Bytes(repeating: 0x66, count: 256)),
        ("damaged", [0x0A, 1, 0x66, 0x18, 0x80]),
        ("damaged", [0x0A, 1, 0x66, 0x12, 5, 0x61]),
        ("damaged", [0x0A, 1, 0x66, 0x1B, 0x1C]),
        ("another zone", reference("r", zone: "away")),
        ("another zone", reference("r", zone: "home", owner: "_other")),
        ("record name of its reference", reference("", zone: "home")),
        ("underscore", reference("_r", zone: "home")),
        ("NUL", reference("r\u{0}", zone: "home")),
        ("printable ASCII", reference("é", zone: "home")),
        (
            "unknown action",
            field {
                $0.message(8) {
                    $0.field(1, text: "r")
                    $0.field(2, varint: 2)
                }
            }
        ),
        (
            "reference holds something unknown",
            field {
                $0.message(8) {
                    $0.field(1, text: "r")
                    $0.field(4, varint: 2)
                }
            }
        ),
        (
            "digest of 32 bytes",
            field { $0.message(9) { $0.field(1, bytes: Bytes(repeating: 1, count: 31)) } }
        ),
        ("digest of 32 bytes", field { $0.message(9) { $0.field(2, varint: 1) } }),
    ]

    @Test(arguments: refusals)
    func whatCantBeStoredIsRefusedWithTheReason(reason: String, bytes: Bytes) throws {
        let error = try #require(throws: ServiceError.self) { try Self.body([bytes]) }
        #expect(error.code == .invalidArguments)
        #expect(error.message.contains(reason), "\(error.message)")
    }

    @Test func fieldsInAnyOrderMakeOneBody() throws {
        var dice = SeededGenerator(seed: 1)
        let names = ["B", "a", "ab", "b", "long_name_of_a_field", "z9"]
        var fields = names.enumerated().map { WireField.encode($1, .int64(Int64($0))) }
        let body = try Self.body(fields)
        let read = try RecordBody(stored: body)
        #expect(read.entries.map { read.name(of: $0) } == names)
        for _ in 0..<20 {
            fields.shuffle(using: &dice)
            #expect(try Self.body(fields) == body)
            let twice = (fields + [fields[0]]).shuffled(using: &dice)
            #expect(throws: ServiceError.self) { try Self.body(twice) }
        }
    }

    @Test func aFieldGivenTwiceIsRefused() throws {
        let error = try #require(throws: ServiceError.self) {
            try Self.body([WireField.encode("f", 1), WireField.encode("f", 1)])
        }
        #expect(error.code == .invalidArguments)
        #expect(error.message.contains("'f' is given twice"))
    }

    @Test(arguments: UInt64(1)...4)
    func damagedFieldsAreRefusedOrMadeCanonical(seed: UInt64) throws {
        var dice = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<80 {
            let value = RandomFields.value(using: &dice)
            let field = WireField.encode(RandomFields.name(using: &dice), value)
            var damaged = Damage.truncations(of: field)
            for _ in 0..<40 { damaged.append(Damage.mutation(of: field, using: &dice)) }
            for candidate in damaged {
                guard let bytes = try? Self.body([candidate]) else { continue }
                accepted += 1
                let body = try RecordBody(stored: bytes)
                let again = Bytes(bytes[try #require(body.entries.first).whole].dropFirst(2))
                if bytes.count < 128 { #expect(try Self.body([again]) == bytes) }
            }
        }
        #expect(accepted > 0)
    }
}
