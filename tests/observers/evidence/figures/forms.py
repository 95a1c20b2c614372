"""Written forms of figures and what a reader understands by them.

One line each: the text, `=>`, and the figures in it, separated by `;`. A figure is `kind value unit`, then
`low..high` of a range and `/other` of another reading; dates are `date year-month-day`. A line without `=>` has none.
"""

from __future__ import annotations

__all__ = ["FORMS"]

FORMS = """
# Numbers in digits
5 people => number 5
1,234.5 people => number 1234.5
1,234 people were counted by the office => number 1234 /1.234
1,234,567 people => number 1234567
12,345.67 of them => number 12345.67
0.5 => number 0.5
a value of .5 or so => number 0.5
1.234,5 => number 1234.5
1.234.567 => number 1234567
Es waren 1.234 Menschen in der Stadt => number 1234 /1.234
Es waren 1,5 Kinder und mehr => number 1.5
1'234 => number 1234
1’234’567.5 => number 1234567.5
Il y a 1 234 personnes dans la ville => number 1234
Il y a 1 234,5 personnes => number 1234.5
12 345 678 => number 12345678
12 345 => number 12345
1e9 rows => number 1000000000
2.5e-3 of it => number 0.0025
10^6 rows => number 1000000
10⁶ rows => number 1000000
3.2 × 10^6 cells => number 3200000
3.2 x 10⁶ cells => number 3200000
½ => number 0.5
1½ cups => number 1.5
2 ¾ cups => number 2.75
2 1/2 cups => number 2.5
3 lakh => number 300000
1,23,456 rupees => money 123456 INR
5 crore => number 50000000
−5 => number -5
It fell to -5 in all => number -5
(5) => number 5
007 => number 7
0.123 => number 0.123
100% => share 100 %
12,000 => number 12000 /12
3,141.59 => number 3141.59
# Scales
5k users => number 5000
5K users => number 5000
5M users => number 5000000
7B parameters => number 7000000000
3 million => number 3000000
3.5 millions => number 3500000
3 billion people => number 3000000000
2 trillion => number 2000000000000
2 mn => number 2000000
2bn => number 2000000000
2 tn => number 2000000000000
4 thousand => number 4000
3 hundred => number 300
5 Mio. => number 5000000
5 Millionen Menschen in der Stadt => number 5000000
1,2 Mrd. => number 1200000000
2 Milliarden => number 2000000000
2 Billionen in der Stadt => number 2000000000000
Die Kosten der Stadt sind 2 Billionen Euro => money 2000000000000 EUR
80 Tausend => number 80000
3 milliards => number 3000000000
3 millions de personnes dans le pays => number 3000000
2 mil millones => number 2000000000
2 millones => number 2000000
5 dozen eggs => number 60
20 thousand million => number 20000000000
# Money
$5 => money 5 USD
$1.2bn => money 1200000000 USD
$1.2 billion => money 1200000000 USD
$1.2B => money 1200000000 USD
$640M => money 640000000 USD
$5k => money 5000 USD
$3m => money 3000000 USD
$3 m => money 3000000 USD
US$ 640 million => money 640000000 USD
US$640m => money 640000000 USD
-$5 => money -5 USD
C$20 => money 20 CAD
A$20 => money 20 AUD
HK$20 => money 20 HKD
€3m => money 3000000 EUR
€ 1.234,56 => money 1234.56 EUR
1,2 Mrd. € => money 1200000000 EUR
1,2 Mio. Euro => money 1200000 EUR
12 € => money 12 EUR
12€ => money 12 EUR
EUR 5 => money 5 EUR
5 EUR => money 5 EUR
EUR5m => money 5000000 EUR
CHF 1'234.50 => money 1234.50 CHF
£12.50 => money 12.50 GBP
¥100 => money 100 JPY
₹500 crore => money 5000000000 INR
Rs 500 => money 500 INR
R$ 20 => money 20 BRL
5 dollars => money 5 USD
5 million dollars => money 5000000 USD
50 cents => money 0.5 USD
5 US dollars => money 5 USD
20 pounds => measure 9071.8474 g
20 million pounds => money 20000000 GBP
100 yen => money 100 JPY
30 yuan => money 30 CNY
5 M€ => money 5000000 EUR
3 k€ => money 3000 EUR
3 Md€ => money 3000000000 EUR
2 millions d'euros pour la ville => money 2000000 EUR
2 milliards de dollars => money 2000000000 USD
3 mil millones de dólares => money 3000000000 USD
20 Franken => money 20 CHF
USD 1,500 => money 1500 USD /1.5
$1,000 => money 1000 USD /1
five dollars => money 5 USD
two million euros => money 2000000 EUR
$0.21 => money 0.21 USD
# Shares
9% => share 9 %
9 % => share 9 %
9.5 percent => share 9.5 %
9 per cent => share 9 %
9 pct => share 9 %
12,5 Prozent => share 12.5 %
12,5 pour cent => share 12.5 %
12,5 por ciento => share 12.5 %
3 percentage points => share 3 pp
3 percentage-points => share 3 pp
3 pp => share 3 pp
3 Prozentpunkte => share 3 pp
3 points de pourcentage => share 3 pp
3 puntos porcentuales => share 3 pp
25 bps => share 0.25 pp
25 basis points => share 0.25 pp
25 Basispunkte => share 0.25 pp
5‰ => share 0.5 %
nine percent => share 9 %
nine per cent => share 9 %
one percent => share 1 %
neun Prozent => share 9 %
ein Prozent => share 1 %
neuf pour cent des gens => share 9 %
nueve por ciento de la gente => share 9 %
half of them => share 50 %
half the users => share 50 %
a quarter of them => share 25 %
a third of them => share 33.33 %
one third => share 33.33 %
one-third of them => share 33.33 %
two thirds => share 66.67 %
two-thirds of them => share 66.67 %
three quarters of them => share 75 %
a fifth of them => share 20 %
one tenth => share 10 %
ein Drittel => share 33.33 %
zwei Drittel => share 66.67 %
die Hälfte => share 50 %
ein Viertel => share 25 %
drei Viertel => share 75 %
un tiers => share 33.33 %
deux tiers => share 66.67 %
la moitié => share 50 %
un quart des gens => share 25 %
trois quarts des gens => share 75 %
un tercio => share 33.33 %
dos tercios => share 66.67 %
la mitad => share 50 %
tres cuartos => share 75 %
one in five => share 20 %
1 in 5 => share 20 %
nine out of ten => share 90 %
9 out of 10 => share 90 %
neun von zehn => share 90 %
neuf sur dix des gens => share 90 %
nueve de cada diez => share 90 %
# Multiples
2.7 times => multiple 2.7 ×
three times => multiple 3 ×
3x faster => multiple 3 ×
3× faster => multiple 3 ×
10-fold => multiple 10 ×
threefold => multiple 3 ×
twice as many => multiple 2 ×
thrice => multiple 3 ×
it doubled => multiple 2 ×
it has tripled => multiple 3 ×
more than double => multiple 2 ×
double the size => multiple 2 ×
zweimal => multiple 2 ×
doppelt so viele => multiple 2 ×
verdoppelt => multiple 2 ×
3-mal so viele => multiple 3 ×
das Dreifache => multiple 3 ×
trois fois => multiple 3 ×
le double => multiple 2 ×
tres veces => multiple 3 ×
el doble => multiple 2 ×
el triple => multiple 3 ×
se duplicó => multiple 2 ×
# Measures
2.1 TB/s => measure 2100000000000 B/s
512 bytes => measure 512 B
5 KB => measure 5000 B
5 kB => measure 5000 B
5MB => measure 5000000 B
80 GB => measure 80000000000 B
80GB => measure 80000000000 B
4 KiB => measure 4096 B
1 GiB => measure 1073741824 B
20 Go de mémoire => measure 20000000000 B
16-bit => measure 16 bit
400 Gbit/s => measure 400000000000 bit/s
400 Gb/s => measure 400000000000 bit/s
100 Mbps => measure 100000000 bit/s
3.5 GHz => measure 3500000000 Hz
700 W => measure 700 W
1.4 kW => measure 1400 W
50 MW => measure 50000000 W
1.2 gigawatts => measure 1200000000 W
1,2 Gigawatt => measure 1200000000 W
5 kWh => measure 5000 Wh
5 kilowatt hours => measure 5000 Wh
5 Kilowattstunden => measure 5000 Wh
3 TWh => measure 3000000000000 Wh
12 V => measure 12 V
5 mA => measure 0.005 A
300 kJ => measure 300000 J
5 km => measure 5000 m
5km => measure 5000 m
5 kilometres => measure 5000 m
5 Kilometer => measure 5000 m
3 miles => measure 4828.032 m
6 feet => measure 1.8288 m
6 ft => measure 1.8288 m
10 inches => measure 0.254 m
2 cm => measure 0.02 m
7 nm => measure 0.000000007 m
7nm => measure 0.000000007 m
3 µm => measure 0.000003 m
5 m² => measure 5 m²
5 m2 => measure 5 m²
20 square metres => measure 20 m²
20 Quadratmeter => measure 20 m²
3 acres => measure 12140.5692672 m²
2 hectares => measure 20000 m²
2 ha => measure 20000 m²
10 km² => measure 10000000 m²
5 m³ => measure 5000 l
3 litres => measure 3 l
2 gallons => measure 7.570823568 l
500 ml => measure 0.5 l
2 million barrels per day => measure 317974589.856 l
5 kg => measure 5000 g
70 Kilogramm => measure 70000 g
3 tonnes => measure 3000000 g
3 Tonnen => measure 3000000 g
12 lb => measure 5443.10844 g
12 oz => measure 340.1942775 g
20 °C => measure 20 °C
20°C => measure 20 °C
68 °F => measure 20 °C
−5 °C => measure -5 °C
300 kelvin => measure 26.85 °C
20 degrees Celsius => measure 20 °C
20 Grad Celsius => measure 20 °C
5 ms => measure 0.005 s
30 seconds => measure 30 s
30s => measure 30 s
5 min => measure 300 s
2 hours => measure 7200 s
2h => measure 7200 s
3 days => measure 259200 s
2 weeks => measure 1209600 s
18 months => measure 47336400 s
5 years => measure 157788000 s
five-year plan => measure 157788000 s
fünf Jahre => measure 157788000 s
cinq ans => measure 157788000 s
cinco años => measure 157788000 s
12-month period => measure 31557600 s
zwei Wochen => measure 1209600 s
100 km/h => measure 27.7778 m/s
60 mph => measure 26.8224 m/s
100 kilometres per hour => measure 27.7778 m/s
120 Stundenkilometer => measure 33.3333 m/s
9.8 m/s => measure 9.8 m/s
10 TFLOPS => measure 10000000000000 FLOP/s
2 exaflops => measure 2000000000000000000 FLOP/s
200 tokens/s => measure 200 token/s
200 tokens per second => measure 200 token/s
60 fps => measure 60 frame/s
400 ppm => measure 400 ppm
30 dB => measure 30 dB
12 megapixels => measure 12000000 pixel
5 m => measure 5 m
$5/month => money 5 USD
0,64 euros por metro cúbico del agua => money 0.64 EUR
9,6 ct/kWh => money 0.096 EUR
die Entgelte sinken auf 9,6 Cent je Kilowattstunde => money 0.096 EUR
1.8m sq ft => measure 167225.472 m²
1.8 million-square-foot tower => measure 167225.472 m²
3 × 50 MW => number 3; measure 50000000 W
412 Gl => measure 412000000000 l
60 hm³ => measure 60000000000 l
910 GWh per year => measure 910000000000 Wh
die Kosten lagen ein Fünftel über dem Vorjahr => share 20 %
las ventas, un quinto más que en 2024 => share 20 %; date 2024-0-0 /2024
5 Gbit pro Sekunde => measure 5000000000 bit/s
# Numbers in words
nine => number 9
twelve => number 12
twenty-one => number 21
twenty one => number 21
two hundred => number 200
two hundred and five => number 205
nine hundred ninety-nine => number 999
two thousand five hundred => number 2500
two hundred thousand => number 200000
a hundred => number 100
a million => number 1000000
half a million => number 500000
a dozen => number 12
one hundred => number 100
two and a half years => measure 78894000 s
zwölf => number 12
fünfundzwanzig => number 25
zweihundertfünf => number 205
dreitausend => number 3000
einundzwanzig => number 21
zwei Millionen => number 2000000
eine Million Menschen in der Stadt => number 1000000
sechzehn => number 16
quatre-vingt-dix => number 90
quatre-vingts => number 80
quatre-vingt-dix-sept => number 97
soixante-quinze => number 75
vingt et un => number 21
vingt-deux => number 22
deux cents => number 200
deux cent cinq personnes dans la ville => number 205
trois mille personnes dans la ville => number 3000
veintidós => number 22
treinta y uno => number 31
doscientos cinco => number 205
tres mil personas en la ciudad => number 3000
mil millones de personas en la ciudad => number 1000000000
cinco => number 5
two, three and four => number 2; number 3; number 4
# Dates
2026-03-12 => date 2026-3-12
12 March 2026 => date 2026-3-12
12th March 2026 => date 2026-3-12
12th of March 2026 => date 2026-3-12
March 12, 2026 => date 2026-3-12
March 12th, 2026 => date 2026-3-12
Mar 12, 2026 => date 2026-3-12
Mar. 12, 2026 => date 2026-3-12
12 March => date 0-3-12
March 12 => date 0-3-12
March 2026 => date 2026-3-0
Sept. 2026 => date 2026-9-0
2026/03/12 => date 2026-3-12
12.03.2026 => date 2026-3-12
12. März 2026 => date 2026-3-12
12. März => date 0-3-12
März 2026 => date 2026-3-0
12 mars 2026 => date 2026-3-12
1er mars 2026 => date 2026-3-1
mars 2026 => date 2026-3-0
août 2026 => date 2026-8-0
12 de marzo de 2026 => date 2026-3-12
marzo de 2026 => date 2026-3-0
3/12/2026 => date 2026-3-12 /739953
25/12/2026 => date 2026-12-25
2026-03 => date 2026-3-0
Q3 2026 => date 2026-103-0
Q3 => date 0-103-0
3Q26 => date 2026-103-0
Q3'26 => date 2026-103-0
third quarter of 2026 => date 2026-103-0
drittes Quartal 2026 => date 2026-103-0
3. Quartal 2026 => date 2026-103-0
troisième trimestre 2026 => date 2026-103-0
tercer trimestre de 2026 => date 2026-103-0
H1 2026 => date 2026-201-0
first half of 2026 => date 2026-201-0
1. Halbjahr 2026 => date 2026-201-0
FY2025 => date 2025-0-0
FY25 => date 2025-0-0
1990s => date 1990-500-0 726468..730119
autumn 2026 => date 2026-303-0
Herbst 2026 => date 2026-303-0
printemps 2026 => date 2026-301-0
otoño de 2026 => date 2026-303-0
1995 => date 1995-0-0 /1995
in 1845 => date 1845-0-0 /1845
im Jahr 2025 => date 2025-0-0 /2025
mid-2026 => date 2026-0-0 /2026
14:30 => measure 52200 clock
2:30 pm => measure 52200 clock
2 p.m. => measure 50400 clock
# Ranges and lists
12–15 people => number 12 12..15; number 15 12..15
12-15 people => number 12 12..15; number 15 12..15
12 to 15 people => number 12 12..15; number 15 12..15
from 12 to 15 => number 12 12..15; number 15 12..15
between 12 and 15 => number 12 12..15; number 15 12..15
12 and 15 => number 12; number 15
58 to 71 percent => share 58 % 58..71; share 71 % 58..71
58–71% => share 58 % 58..71; share 71 % 58..71
58%–71% => share 58 % 58..71; share 71 % 58..71
von 12 bis 15 Prozent => share 12 % 12..15; share 15 % 12..15
zwischen 12 und 15 Prozent => share 12 % 12..15; share 15 % 12..15
de 12 à 15 pour cent => share 12 % 12..15; share 15 % 12..15
entre 12 y 15 por ciento => share 12 % 12..15; share 15 % 12..15
3, 5 and 7 percent => share 3 %; share 5 %; share 7 %
3 and 5 percent => share 3 %; share 5 %
two to three years => measure 63115200 s 63115200..94672800; measure 94672800 s 63115200..94672800
$2-3bn => money 2000000000 USD 2000000000..3000000000; money 3000000000 USD 2000000000..3000000000
$2bn–$3bn => money 2000000000 USD 2000000000..3000000000; money 3000000000 USD 2000000000..3000000000
£12–15 => money 12 GBP 12..15; money 15 GBP 12..15
12 ± 0.5 mm => measure 0.012 m 0.0115..0.0125
12±3 => number 12 9..15
2019–2023 => date 2019-0-0 737060..738521 /2019; date 2023-0-0 737060..738521 /2023
2019–23 => date 2019-0-0 737060..738521 /2019; date 2023-0-0 737060..738521
12–15 March 2026 => date 2026-3-12 739687..739690; date 2026-3-15 739687..739690
March 12–15, 2026 => date 2026-3-12 739687..739690; date 2026-3-15 739687..739690
12. bis 15. März 2026 => date 2026-3-12 739687..739690; date 2026-3-15 739687..739690
du 12 au 15 mars 2026 => date 2026-3-12 739687..739690; date 2026-3-15 739687..739690
del 12 al 15 de marzo de 2026 => date 2026-3-12 739687..739690; date 2026-3-15 739687..739690
# Ordinals
3rd => ordinal 3
21st century => ordinal 21
# Forms in context
Die Temperatur lag bei minus 5 Grad => measure -5 °C
zweieinhalb Jahre => measure 78894000 s
anderthalb Stunden => measure 5400 s
deux ans et demi => measure 78894000 s
two-and-a-half hours => measure 9000 s
half an hour => measure 1800 s
half a percentage point => share 0.5 pp
Die 25-jährige Frau => measure 788940000 s
dix-sept jours => measure 1468800 s
contre 2 822 milliards en 2023 => number 2822000000000; date 2023-0-0 /2023
entre le 12 et le 15 mars 2026 => date 2026-3-12; date 2026-3-15
$1,000-$2,000 => money 1000 USD 1000..2000 /1; money 2000 USD 1000..2000 /2
1,000s of people => number 1000 /1
the mid-2000s => date 2000-500-0 730120..733772
the late 80s => date 1980-500-0 722815..726467
the winter of 1777-78 => date 1777-304-0 649006..649037; date 1778-0-0 649006..649037
2020/21 => date 2020-0-0 737425..737791 /2020; date 2021-0-0 737425..737791
Q1–Q3 2026 => date 2026-101-0 739617..739798; date 2026-103-0 739617..739798
cut by 170, or 6%, in a year => number 170; share 6 %
by 5, 6, or 7% a year => share 5 %; share 6 %; share 7 %
one or two, one in three adults => number 2; share 33.33 %
(1882–1932) => date 1882-0-0 687022..705283 /1882; date 1932-0-0 687022..705283 /1932
from 900,000 to 1.2 million => number 900000 900000..1200000 /900; number 1200000 900000..1200000
$5 to 10 million => money 5000000 USD 5000000..10000000 /5; money 10000000 USD 5000000..10000000
two quarters later => number 2
# No figures
open 24/7
the H100 and the H200
a Phase 3 trial
(916) 736-3966
one of the best
no one knows
GPT-4
GPT-4o and H7, A100, M3 and F-16
v2.1
version 2.1.3
ISO 9001
COVID-19
as shown before [3]
as shown before [3, 4]
Section 3.1
Figure 2
Table 4
§ 4.2
see page 12
1. Introduction
2) Introduction
https://example.org/2026/03/12/a-12
www.example.org/12
a12@example.org
file_12.txt
report-2026.pdf
ISBN 978-3-16-148410-0
10.1000/182
+1 202 555 0123
555-123-4567
0x1F
#5
192.168.0.1
3D
5G
1080p
H2O
CO2
ein Haus und eine Stadt
un homme et une femme
once upon a time
an elf in the forest
a third party
the second half
mil
"""
