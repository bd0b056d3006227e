// swift-tools-version: 6.2
// An app's package: the client alone, without what it would have to have on the machine.
//
// `cluster/client` copies this folder to an empty place, says in CUMULUS_PATH where Cumulus is, and
// builds it.

import PackageDescription

let package = Package(
    name: "diary",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "cumulus", path: Context.environment["CUMULUS_PATH"] ?? "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "Diary",
            dependencies: [.product(name: "Cumulus", package: "cumulus")]
        )
    ]
)
