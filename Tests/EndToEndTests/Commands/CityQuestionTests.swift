// The four questions that an app asks about cities, on a real node by the command line; each answer
// and its order equal a plain loop's. (`cluster/queries` asks them about real cities.)

import CumulusModel
import CumulusStorage
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized) struct CityQuestionTests {
    private let folder: TestFolder
    private let cities: [City]

    private struct City {
        var name: String
        var country: String
        var population: Int64
        var zone: String
        var others: [String]
        var place: Location

        var line: String {
            """
            {"recordName": "\(name)", "country": "\(country)", "population": \(population), \
            "timezone": "\(zone)", "alternateNames": ["\(others.joined(separator: "\", \""))"], \
            "location": {"latitude": \(place.latitude), "longitude": \(place.longitude)}}
            """
        }
    }

    init() throws {
        folder = try TestFolder()
        var dice = SeededGenerator(seed: 29)
        cities = (0..<600).map { number in
            City(
                name: "city-\(number)",
                country: ["JP", "DE", "PE", "NG"].randomElement(using: &dice) ?? "",
                population: .random(in: 1...40, using: &dice) * 50_000,
                zone: "Zone/\(Int.random(in: 0..<40, using: &dice))",
                others: (0..<3).map { _ in
                    ["Alt", "São", "neu", "Ōsaka", "port", "Bad"].shuffled(using: &dice)
                        .prefix(2).joined(separator: " ")
                },
                place: Location(
                    latitude: Double(Int.random(in: 3_400...3_700, using: &dice)) / 100,
                    longitude: Double(Int.random(in: 13_800...14_100, using: &dice)) / 100
                )
            )
        }
    }

    private func names(
        _ isMeant: (City) -> Bool,
        by precedes: (City, City) -> Bool = { _, _ in false },
        namesFall: Bool = false
    ) -> [String] {
        let byName = cities.filter(isMeant).sorted { $0.name < $1.name }
        // Stable: names decide between equals.
        return (namesFall ? byName.reversed() : byName).sorted(by: precedes).map(\.name)
    }

    @Test func answersAreThoseOfALoop() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
            "CUMULUS_DATABASE": "public",
        ]
        let file = "\(folder.path)/cities.jsonl"
        try Data(cities.map(\.line).joined(separator: "\n").utf8).write(to: URL(filePath: file))
        let run = try await CommandLineRun(
            ["import", "City", file],
            variables: variables
        )
        #expect(run.code == 0, "\(run.errors)")
        func found(_ words: String...) async throws -> [String] {
            let query = ["query", "City", "--json", "--keys", ""] + words
            let run = try await CommandLineRun(query, variables: variables)
            #expect(run.code == 0, "\(run.errors)")
            guard case .array(let records) = try JSONReader.read(run.output.utf8) else { return [] }
            return records.compactMap { record in
                if case .string(let name)? = record["recordName"] { name } else { nil }
            }
        }

        let large = try await found(
            "--where",
            "country == 'JP' AND population > 500000",
            "--sort",
            "-population",
            "--all"
        )
        let expected = names(
            { $0.country == "JP" && $0.population > 500_000 },
            by: { $0.population > $1.population },
            namesFall: true
        )
        #expect(large == expected)
        #expect(large.count > 50)

        let here = Location(latitude: 35.68, longitude: 139.76)
        func distance(_ city: City) -> Double { GreatCircle.distance(city.place, here) }
        let near = try await found(
            "--where",
            "distanceToLocation:fromLocation:(location, LOCATION(35.68, 139.76)) < 50000",
            "--near",
            "location,35.68,139.76",
            "--all"
        )
        #expect(near == names({ distance($0) < 50_000 }, by: { distance($0) < distance($1) }))
        #expect(near.count > 10)

        let words = try await found("--where", "self CONTAINS 'osaka alt'", "--all")
        #expect(
            words
                == names { city in
                    let all = city.others.joined(separator: " ")
                    return all.contains("Ōsaka") || all.contains("Alt")
                }
        )
        #expect(words.count > 100)

        let zones = (0..<20).map { "Zone/\($0 * 2)" }
        let list = zones.map { "'\($0)'" }.joined(separator: ", ")
        let first = try await found("--where", "timezone IN {\(list)}", "--limit", "50")
        #expect(first == Array(names { zones.contains($0.zone) }.prefix(50)))
        try await node.end(SIGTERM)
    }
}
