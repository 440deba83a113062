// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic/catalogue_words.h"

namespace likewise {
namespace {

// Word lists read better filled than one to a line:
// clang-format off

constexpr std::string_view kWesternPatterns[] = {
    "The {A} of {B}",       "Sundown at {B}",      "A {C} for the {A}",     "The {A}'s {C}",
    "The Long Road to {B}", "Trouble at {B}",      "Seven Riders from {B}", "The {A} Rides Alone",
    "Gold under {B}",       "The {A} Draws First", "Dead Man's {C}",        "No Rain in {B}",
    "Last Stage to {B}",    "The {B} Gang",        "The Stolen {C}"};
constexpr std::string_view kWesternPeople[] = {
    "Marshal",    "Drifter",    "Widow",         "Preacher",     "Blacksmith", "Horse Thief",
    "Gunsmith",   "Undertaker", "Telegraph Man", "Cattle Queen", "Card Sharp", "Deputy",
    "Stable Boy", "Rancher",    "Schoolmarm",    "Prospector"};
constexpr std::string_view kWesternPlaces[] = {
    "Copper Creek", "Sorrow Gulch",  "Dry Fork",    "Juniper Flats",
    "Broken Wheel", "Mercy Springs", "Coyote Bend", "Tumbledown",
    "Lantern Pass", "Widow's Mesa",  "Salt Basin",  "Crow Junction",
    "Buzzard Hill", "Lonely Pine",   "Two Wells",   "Sagebrush City"};
constexpr std::string_view kWesternThings[] = {
    "Noose",    "Saddle",      "Branding Iron", "Silver Dollar", "Harmonica",  "Stagecoach",
    "Tin Star", "Pinto Horse", "Lucky Rifle",   "Wanted Poster", "Poker Hand", "Rawhide Whip"};

constexpr std::string_view kSciencePatterns[] = {
    "The {A} of {B}",      "Signals from {B}",       "The {A}'s {C}",         "Adrift off {B}",
    "The {B} {C}",         "The {C} Beyond {B}",     "The {A} Dreams of {B}", "Goodbye, {B}",
    "The Last {C} of {B}", "Two Suns over {B}",      "Seed Ship to {B}",      "Silence at {B}",
    "The {A} from {B}",    "The Ten-Thousandth {C}", "The {A} Wakes"};
constexpr std::string_view kSciencePeople[] = {
    "Star Botanist",     "Robot Gardener",    "Moon Surveyor", "Comet Herder",  "Airlock Keeper",
    "Android",           "Star Cartographer", "Quantum Pilot", "Ice Miner",     "Orbital Medic",
    "Cloned Ambassador", "Time Archivist",    "Xenologist",    "Starship Cook", "Probe Mechanic"};
constexpr std::string_view kSciencePlaces[] = {
    "Vesper Station",   "Orbit Nine",      "Titan Harbour", "Kepler's Garden",
    "Outpost Marigold", "Saturn Crossing", "Helix Prime",   "Port Callisto",
    "Sector Eleven",    "Nova Lisboa",     "Ganymede Deep", "Cygnus Gate",
    "New Ceres",        "Farside Base",    "Proxima Bay",   "Dome Forty"};
constexpr std::string_view kScienceThings[] = {
    "Paradox",    "Engine", "Colony",   "Beacon",      "Transmission", "Anomaly", "Reactor",
    "Experiment", "Mutiny", "Equation", "Hibernation", "Satellite",    "Eclipse", "Wormhole"};

constexpr std::string_view kCrimePatterns[] = {
    "Murder on {B}",       "The {A} of {B}", "The {A}'s {C}",      "Nobody Trusts the {A}",
    "One {C} Too Many",    "The {B} {C}",    "A {C} on {B}",       "The {A} Knows Your Name",
    "Last Night on {B}",   "Rain on {B}",    "A Cell for the {A}", "The {A} Takes the Fall",
    "Four O'Clock on {B}", "The Sunday {C}", "Dead Men of {B}"};
constexpr std::string_view kCrimePeople[] = {
    "Pawnbroker",     "Night Clerk",  "Safecracker",   "Coroner",
    "Getaway Driver", "Bookmaker",    "Crooked Judge", "Cigarette Girl",
    "Beat Cop",       "Forger",       "Fence",         "Racketeer",
    "Hat Check Girl", "Stool Pigeon", "Gumshoe",       "District Attorney"};
constexpr std::string_view kCrimePlaces[] = {
    "Garnet Avenue",  "Mulberry Wharf", "Pier Nineteen", "Gaslight Row",  "Cannery Hill",
    "Viaduct Street", "Tenth and Vine", "Dockside",      "Harrow Lane",   "Racetrack Road",
    "Lowell Court",   "Foundry Square", "Basin Quay",    "Tannery Alley", "Ludlow Heights"};
constexpr std::string_view kCrimeThings[] = {
    "Ledger", "Switchblade", "Confession", "Blackmail Note", "Bullet",  "Bribe",   "Double Cross",
    "Payoff", "Suitcase",    "Robbery",    "Witness",        "Line-Up", "Killing", "Stakeout"};

constexpr std::string_view kRomancePatterns[] = {"{A} Writes from {B}",
                                                 "Two Tickets to {B}",
                                                 "Waiting for {A}",
                                                 "{A} and the {C}",
                                                 "A Kiss in {B}",
                                                 "The {C} Belongs to {A}",
                                                 "{A}, Come Home to {B}",
                                                 "Falling for {A} in {B}",
                                                 "Once, in {B}",
                                                 "The Summer {A} Stayed",
                                                 "{A} under the Lemon Trees",
                                                 "Postcards from {B}",
                                                 "Marry Me, {A}",
                                                 "The {B} Wedding",
                                                 "The {C} of {B}"};
constexpr std::string_view kRomancePeople[] = {
    "Clara",  "Julian",  "Marguerite", "Elio",    "Rosalind",  "Tomas",   "Celeste",  "Henrietta",
    "Rafael", "Ottilie", "Lucien",     "Beatriz", "Anneliese", "Florian", "Delphine", "Ignacio"};
constexpr std::string_view kRomancePlaces[] = {
    "Sorrento",  "Porto",     "Biarritz",   "Ravello", "Valparaíso", "Madeira",  "Seville",
    "Lake Como", "Dubrovnik", "Saint-Malo", "Verbier", "Honfleur",   "Taormina", "Cadaqués"};
constexpr std::string_view kRomanceThings[] = {
    "Florist",     "Love Letter", "Yellow Umbrella", "Violin Teacher", "Borrowed Wedding Dress",
    "Rose Garden", "Orchard",     "Last Dance",      "Bookseller",     "Honeymoon Suite",
    "Lighthouse",  "Sweetheart",  "Champagne",       "Gondolier"};

constexpr std::string_view kHorrorPatterns[] = {
    "The {C} at {B}",   "The {A} of {B}",       "Don't Wake the {A}",  "What Waits at {B}",
    "The {A}'s {C}",    "They Buried the {A}",  "Nobody Leaves {B}",   "The {C} That Breathes",
    "Beware the {C}", "Night Shift at {B}",   "The Thing under {B}", "Supper with the {A}",
    "Sleepover at {B}", "The {A}'s Last Guest", "{B} Is Hungry",       "Seven Graves for the {A}"};
constexpr std::string_view kHorrorPeople[] = {
    "Taxidermist",    "Gravedigger",    "Pale Nurse", "Hangman",      "Dollmaker",
    "Ghoul",          "Headless Bride", "Mortician",  "Vampire",      "Wicker Child",
    "Corpse Painter", "Hollow Priest",  "Banshee",    "Leech Doctor", "Drowned Choir"};
constexpr std::string_view kHorrorPlaces[] = {
    "Blackthorn Hall", "Ravenmoor",  "Gallows Farm",    "Hollow Hill Asylum", "Marrow Lake",
    "Crypt Street",    "Wraithwood", "Saint Mordred's", "Bleakwater",         "Fathom House",
    "Rotting Oak",     "Coffin Bay", "Dread Manor",     "Nettle Abbey"};
constexpr std::string_view kHorrorThings[] = {
    "Cellar", "Cradle", "Crawlspace",   "Scarecrow", "Curse",    "Séance",     "Bone Piano",
    "Shroud", "Scream", "Black Candle", "Attic",     "Haunting", "Plague Mask"};

constexpr std::string_view kComedyPatterns[] = {
    "Who Ordered the {C}?",      "The {A} and the {C}",   "Please Don't Tell the {A}",
    "The Reluctant {A}",         "My Cousin the {A}",     "A {C} for the {A}",
    "{B} with the {A}",          "Oh No, Not the {C}!",   "The {A} Wore a {C}",
    "Never Lend a {C} to a {A}", "The {C} Incident",      "Is There a {A} in the House?",
    "{B} for Beginners",         "Somebody Stole My {C}", "The Accidental {A}"};
constexpr std::string_view kComedyPeople[] = {
    "Dentist",  "Tax Inspector",      "Bridesmaid",  "Bus Driver",    "Lodger",         "Plumber",
    "Vicar",    "Wedding Planner",    "Night Nanny", "Ventriloquist", "Traffic Warden", "Bishop",
    "Landlady", "Driving Instructor", "Golf Pro",    "Best Man"};
constexpr std::string_view kComedyEvents[] = {
    "Breakfast", "A Fortnight", "Stuck",     "Snowed In", "Caravanning",    "Speed Dating",
    "Karaoke",   "Dieting",     "Book Club", "Moving In", "Sharing a Tent", "Bowling"};
constexpr std::string_view kComedyThings[] = {
    "Trombone", "Llama",      "Sausage",     "Toupee",      "Lobster", "Bagpipe", "Moustache",
    "Goldfish", "Pickle Jar", "Rubber Duck", "Custard Pie", "Bathtub", "Parrot",  "Tuxedo"};

constexpr std::string_view kAdventurePatterns[] = {
    "The {C} of {B}",    "Beyond {B}",        "The {A} of {B}",      "The {A}'s {C}",
    "Expedition to {B}", "Storm over {B}",    "The {A} and the {C}", "Nine Days to {B}",
    "Prisoners of {B}",  "The Secret of {B}", "Castaways of {B}",    "The {C} Hunters",
    "The {A}'s Revenge", "Monsoon at {B}",    "The Race to {B}"};
constexpr std::string_view kAdventurePeople[] = {
    "Smuggler", "Map Maker",   "Falconer",        "Pearl Diver", "Corsair",
    "Sherpa",   "Bush Pilot",  "Treasure Seeker", "Helmsman",    "Lion Tamer",
    "Explorer", "Swordmaster", "Caravan Guide",   "Balloonist",  "Harpooner"};
constexpr std::string_view kAdventurePlaces[] = {
    "the Amber Coast", "Mount Kessara",     "Tiger River",  "the Cape of Bones",
    "Zamari Island",   "the Emerald Gorge", "Khandar",      "the Forgotten Reef",
    "Serpent Falls",   "the Silver Desert", "Port Mirabel", "the Hidden Valley of Oru",
    "Parrot Key",      "the Frozen Strait"};
constexpr std::string_view kAdventureThings[] = {
    "Compass",       "Jade Idol",     "Galleon",  "Sunken Crown",  "Cutlass",
    "Ruby",          "Elephant Gate", "Treasure", "Monkey Temple", "Shipwreck",
    "Golden Rudder", "Scimitar",      "Sea Chest"};

constexpr std::string_view kMusicalPatterns[] = {
    "{C} at the {B}",          "The {A} of the {B}",
    "Dance with the {A}",      "The {A}'s {C}",
    "Encore for the {A}",      "Everybody Sings at the {B}",
    "{C} on the Rooftop",      "The {A} and the {C}",
    "Top Hats at the {B}",     "Kiss the {A}",
    "The {A} Can't Keep Time", "Say It with a {C}",
    "Curtain Up at the {B}",   "Two Left Feet at the {B}",
    "Strike Up the {C}",       "Who Taught the {A} to Sing?"};
constexpr std::string_view kMusicalPeople[] = {
    "Trumpeter",      "Chorus Girl",       "Piano Tuner",       "Tap Dancer",   "Crooner",
    "Bandleader",     "Soubrette",         "Accordion King",    "Understudy",   "Songwriter",
    "Drum Majorette", "Ballroom Champion", "Stage Door Johnny", "Banjo Player", "Tenor"};
constexpr std::string_view kMusicalPlaces[] = {
    "Bellweather Ballroom",  "Paradise Pier",  "Blue Feather Club", "Lakeside Theatre",
    "Palais Lune",           "Starlight Roof", "Grand Alcazar",     "Half Moon Revue",
    "Peppermint Lounge Car", "Riverboat Lily", "Calypso Room",      "Old Apollonia"};
constexpr std::string_view kMusicalThings[] = {"Waltz",  "Serenade",    "Foxtrot", "Melody",
                                               "Rumba",  "Tap Routine", "Polka",   "Torch Song",
                                               "Cancan", "March",       "Lullaby", "Ragtime"};

constexpr std::string_view kSpyPatterns[] = {
    "The {B} {C}",         "The {A} from {B}",      "Midnight Train from {B}",
    "The {A}'s {C}",       "Defection in {B}",      "Never Meet the {A}",
    "A {C} in {B}",        "The {A} Went Silent",   "Five Hours in {B}",
    "The {A} Has No Name", "Sleepers of {B}",       "Burn the {C}",
    "Checkpoint {B}",      "The {A} Must Not Talk", "Fog over {B}",
    "The Wrong {A}"};
constexpr std::string_view kSpyPeople[] = {
    "Courier",  "Interpreter",    "Codebreaker",   "Attaché",      "Double Agent",
    "Consul",   "Cold Operator",  "Handler",       "Chess Master", "Radio Man",
    "Defector", "Undersecretary", "Station Chief", "Polygraph Man"};
constexpr std::string_view kSpyPlaces[] = {
    "Trieste", "Tbilisi", "Montevideo", "Gdansk",    "Bratislava", "Tangier", "Riga",
    "Nicosia", "Lugano",  "Vientiane",  "Bucharest", "Tallinn",    "Macau",   "Aden"};
constexpr std::string_view kSpyThings[] = {
    "Cipher",  "Dossier",     "Microfilm", "Protocol",  "Dead Drop",  "Passport", "Exchange",
    "Wiretap", "Cover Story", "Sanction",  "Briefcase", "Debriefing", "Blackout"};

constexpr std::string_view kFamilyPatterns[] = {
    "The {A} of {B}",          "The {A} and the {C}",     "Christmas at {B}",
    "The {A} Who Found a {C}", "A {C} for the {A}",       "Hurray for {B}!",
    "The {A}'s {C}",           "Goodnight, {B}",          "Where Is the {A}?",
    "Snow Day at {B}",         "The {C} That Could Sing", "The {A}'s Big Day",
    "The Littlest {C}",        "Follow the {A}!",         "Once upon a {C}",
    "The {A} Learns to Fly"};
constexpr std::string_view kFamilyAnimals[] = {
    "Little Otter", "Hedgehog",    "Snow Goose",    "Brave Mouse", "Sleepy Badger",
    "Circus Pony",  "Shy Giraffe", "Lost Kitten",   "Tooth Fairy", "Runaway Puppy",
    "Penguin",      "Toymaker",    "Clumsy Dragon", "Baby Walrus", "Acorn Prince"};
constexpr std::string_view kFamilyPlaces[] = {
    "Thistledown Wood", "Button Lane",    "Pudding Hill",     "Marmalade Farm",
    "Bumblebee Lodge",  "Teacup Island",  "Mitten Street",    "Snowdrop Village",
    "Biscuit Bridge",   "Puddle Harbour", "Dandelion School", "Blanket Bay"};
constexpr std::string_view kFamilyThings[] = {
    "Kite",          "Teapot",       "Balloon",  "Snowman",          "Music Box", "Magic Mitten",
    "Birthday Cake", "Wooden Train", "Moonbeam", "Gingerbread Boat", "Treehouse", "Firefly Lamp"};

constexpr GenreWords kGenres[] = {
    {"western",
     "westerns",
     {9, 9, 8, 5, 4, 4, 4, 4},
     kWesternPatterns,
     {kWesternPeople, kWesternPlaces, kWesternThings}},
    {"science fiction",
     "science fiction",
     {4, 5, 6, 7, 7, 7, 8, 8},
     kSciencePatterns,
     {kSciencePeople, kSciencePlaces, kScienceThings}},
    {"crime",
     "crime",
     {8, 6, 7, 6, 6, 6, 5, 5},
     kCrimePatterns,
     {kCrimePeople, kCrimePlaces, kCrimeThings}},
    {"romance",
     "romances",
     {6, 6, 6, 6, 7, 7, 6, 5},
     kRomancePatterns,
     {kRomancePeople, kRomancePlaces, kRomanceThings}},
    {"horror",
     "horror",
     {5, 6, 7, 8, 5, 6, 6, 7},
     kHorrorPatterns,
     {kHorrorPeople, kHorrorPlaces, kHorrorThings}},
    {"comedy",
     "comedies",
     {5, 6, 6, 7, 7, 7, 6, 5},
     kComedyPatterns,
     {kComedyPeople, kComedyEvents, kComedyThings}},
    {"adventure",
     "adventures",
     {7, 6, 5, 8, 6, 5, 5, 5},
     kAdventurePatterns,
     {kAdventurePeople, kAdventurePlaces, kAdventureThings}},
    {"musical",
     "musicals",
     {9, 8, 6, 5, 4, 5, 5, 5},
     kMusicalPatterns,
     {kMusicalPeople, kMusicalPlaces, kMusicalThings}},
    {"spy film",
     "spy films",
     {4, 9, 8, 7, 5, 5, 5, 4},
     kSpyPatterns,
     {kSpyPeople, kSpyPlaces, kSpyThings}},
    {"family film",
     "family films",
     {4, 5, 5, 6, 8, 8, 7, 6},
     kFamilyPatterns,
     {kFamilyAnimals, kFamilyPlaces, kFamilyThings}},
};

constexpr std::string_view kFirstNames[] = {
    "Ada",    "Aisha", "Alma", "Amir",  "Anouk", "Arthur", "Astrid", "Bela",  "Bruno",  "Carmen",
    "Cato",   "Chidi", "Cora", "Dara",  "Diego", "Edith",  "Elif",   "Emil",  "Esther", "Farid",
    "Fleur",  "Freya", "Gita", "Greta", "Hana",  "Hugo",   "Ines",   "Ivan",  "Jasper", "Joon",
    "Kaito",  "Kasia", "Lars", "Leila", "Lin",   "Luca",   "Mabel",  "Malik", "Marta",  "Mei",
    "Milo",   "Nadia", "Nia",  "Noor",  "Olga",  "Oscar",  "Otto",   "Petra", "Priya",  "Quentin",
    "Rosa",   "Ruben", "Saga", "Samir", "Sofia", "Stella", "Tariq",  "Thea",  "Tomoko", "Uma",
    "Viktor", "Wanda", "Yara", "Zofia"};

constexpr std::string_view kLastNames[] = {
    "Abara",   "Adler",  "Amado",  "Andersen", "Ashby",    "Bakker",  "Banerjee", "Barros",
    "Birch",   "Bloom",  "Brandt", "Calder",   "Castillo", "Chen",    "Costa",    "Dahl",
    "Demir",   "Diallo", "Dubois", "Eriksen",  "Farrow",   "Fischer", "Fontaine", "Fujita",
    "Garnett", "Haddad", "Hale",   "Horvat",   "Ibarra",   "Ishii",   "Jansen",   "Kaplan",
    "Khan",    "Kimura", "Kovac",  "Larkin",   "Lindgren", "Lopes",   "Marsh",    "Mbeki",
    "Mendez",  "Moreau", "Nakano", "Novak",    "Okafor",   "Olsen",   "Ortiz",    "Park",
    "Petrov",  "Quist",  "Rao",    "Rossi",    "Sato",     "Silva",   "Sorensen", "Tanaka",
    "Thorne",  "Toth",   "Vance",  "Vega",     "Weber",    "Winter",  "Yilmaz",   "Zeman"};

// clang-format on

}  // namespace

std::span<const GenreWords> genre_words() { return kGenres; }
Words first_names() { return kFirstNames; }
Words last_names() { return kLastNames; }

}  // namespace likewise
