// Names of emoji, as Slack, Discord and others write them between colons. What is not here stays as it is.

const NAMES = `
+1 👍 thumbsup 👍 thumbs_up 👍 -1 👎 thumbsdown 👎 thumbs_down 👎 ok_hand 👌 wave 👋 clap 👏 raised_hands 👐 pray 🙏
muscle 💪 point_up ☝️ point_up_2 👆 point_down 👇 point_left 👈 point_right 👉 raised_hand ✋ hand ✋ fist ✊ facepunch 👊
punch 👊 v ✌️ crossed_fingers 🤞 handshake 🤝 writing_hand ✍️ eyes 👀 eye 👁️ brain 🧠 shrug 🤷 facepalm 🤦 face_palm 🤦
man-shrugging 🤷‍♂️ woman-shrugging 🤷‍♀️ person_shrugging 🤷 bow 🙇 raising_hand 🙋 ok_woman 🙆 no_good 🙅 dancer 💃
smile 😄 smiley 😃 grinning 😀 grin 😁 laughing 😆 satisfied 😆 sweat_smile 😅 joy 😂 rofl 🤣 rolling_on_the_floor_laughing 🤣
slightly_smiling_face 🙂 simple_smile 🙂 upside_down_face 🙃 wink 😉 blush 😊 relaxed ☺️ innocent 😇 heart_eyes 😍
star-struck 🤩 star_struck 🤩 kissing_heart 😘 yum 😋 stuck_out_tongue 😛 stuck_out_tongue_winking_eye 😜 zany_face 🤪
money_mouth_face 🤑 hugging_face 🤗 hugs 🤗 thinking_face 🤔 thinking 🤔 zipper_mouth_face 🤐 raised_eyebrow 🤨
face_with_raised_eyebrow 🤨 neutral_face 😐 expressionless 😑 no_mouth 😶 smirk 😏 unamused 😒 face_with_rolling_eyes 🙄
rolling_eyes 🙄 grimacing 😬 relieved 😌 pensive 😔 sleepy 😪 sleeping 😴 mask 😷 nauseated_face 🤢 sneezing_face 🤧
exploding_head 🤯 cowboy_hat_face 🤠 partying_face 🥳 sunglasses 😎 nerd_face 🤓 face_with_monocle 🧐 confused 😕 worried 😟
slightly_frowning_face 🙁 open_mouth 😮 hushed 😯 astonished 😲 flushed 😳 pleading_face 🥺 fearful 😨 cold_sweat 😰
disappointed_relieved 😥 cry 😢 sob 😭 scream 😱 confounded 😖 persevere 😣 disappointed 😞 sweat 😓 weary 😩 tired_face 😫
yawning_face 🥱 triumph 😤 rage 😡 angry 😠 face_with_symbols_on_mouth 🤬 smiling_imp 😈 skull 💀 poop 💩 hankey 💩 clown_face 🤡
ghost 👻 alien 👽 robot_face 🤖 robot 🤖 see_no_evil 🙈 hear_no_evil 🙉 speak_no_evil 🙊 melting_face 🫠 saluting_face 🫡
heart ❤️ orange_heart 🧡 yellow_heart 💛 green_heart 💚 blue_heart 💙 purple_heart 💜 black_heart 🖤 white_heart 🤍
broken_heart 💔 two_hearts 💕 sparkling_heart 💖 100 💯 boom 💥 collision 💥 dizzy 💫 sweat_drops 💦 zzz 💤
fire 🔥 sparkles ✨ star ⭐ star2 🌟 zap ⚡ sunny ☀️ cloud ☁️ rainbow 🌈 snowflake ❄️ umbrella ☔ ocean 🌊
tada 🎉 confetti_ball 🎊 balloon 🎈 gift 🎁 birthday 🎂 cake 🍰 trophy 🏆 medal 🏅 first_place_medal 🥇 dart 🎯 art 🎨
rocket 🚀 ship 🚢 car 🚗 bike 🚲 airplane ✈️ house 🏠 office 🏢 earth_africa 🌍 earth_americas 🌎 earth_asia 🌏 world_map 🗺️
coffee ☕ tea 🍵 beer 🍺 beers 🍻 wine_glass 🍷 champagne 🍾 pizza 🍕 hamburger 🍔 taco 🌮 cookie 🍪 doughnut 🍩 apple 🍎 popcorn 🍿
dog 🐶 cat 🐱 mouse 🐭 bear 🐻 panda_face 🐼 penguin 🐧 bird 🐦 snake 🐍 whale 🐳 crab 🦀 bug 🐛 bee 🐝 beetle 🐞 butterfly 🦋
tree 🌳 seedling 🌱 herb 🌿 cactus 🌵 rose 🌹 sunflower 🌻 four_leaf_clover 🍀
white_check_mark ✅ heavy_check_mark ✔️ ballot_box_with_check ☑️ x ❌ heavy_multiplication_x ✖️ negative_squared_cross_mark ❎
question ❓ grey_question ❔ exclamation ❗ heavy_exclamation_mark ❗ bangbang ‼️ interrobang ⁉️ warning ⚠️ no_entry ⛔ no_entry_sign 🚫
construction 🚧 rotating_light 🚨 red_circle 🔴 large_orange_circle 🟠 large_yellow_circle 🟡 large_green_circle 🟢
green_circle 🟢 large_blue_circle 🔵 white_circle ⚪ black_circle ⚫ heavy_plus_sign ➕ heavy_minus_sign ➖ recycle ♻️
arrow_up ⬆️ arrow_down ⬇️ arrow_left ⬅️ arrow_right ➡️ arrows_counterclockwise 🔄 back 🔙 soon 🔜 top 🔝 new 🆕 ok 🆗 sos 🆘 up 🆙 cool 🆒
one 1️⃣ two 2️⃣ three 3️⃣ four 4️⃣ five 5️⃣ information_source ℹ️ copyright ©️ tm ™️
computer 💻 keyboard ⌨️ desktop_computer 🖥️ printer 🖨️ iphone 📱 phone ☎️ telephone_receiver 📞 email 📧 e-mail 📧 envelope ✉️
inbox_tray 📥 outbox_tray 📤 package 📦 mailbox 📫 memo 📝 pencil 📝 pencil2 ✏️ page_facing_up 📄 clipboard 📋 book 📖 books 📚
bookmark 🔖 link 🔗 paperclip 📎 pushpin 📌 round_pushpin 📍 scissors ✂️ calendar 📅 date 📅 chart_with_upwards_trend 📈
chart_with_downwards_trend 📉 bar_chart 📊 lock 🔒 unlock 🔓 key 🔑 hammer 🔨 wrench 🔧 hammer_and_wrench 🛠️ gear ⚙️ nut_and_bolt 🔩
bulb 💡 flashlight 🔦 battery 🔋 electric_plug 🔌 mag 🔍 mag_right 🔎 hourglass ⌛ hourglass_flowing_sand ⏳ watch ⌚ alarm_clock ⏰
stopwatch ⏱️ bell 🔔 no_bell 🔕 mega 📣 loudspeaker 📢 speech_balloon 💬 thought_balloon 💭 musical_note 🎵 notes 🎶 microphone 🎤
headphones 🎧 movie_camera 🎥 camera 📷 tv 📺 video_game 🎮 game_die 🎲 moneybag 💰 dollar 💵 credit_card 💳 gem 💎 crown 👑
wastebasket 🗑️ shield 🛡️ syringe 💉 pill 💊 checkered_flag 🏁 triangular_flag_on_post 🚩 white_flag 🏳️
man 👨 woman 👩 baby 👶 busts_in_silhouette 👥 bust_in_silhouette 👤 technologist 🧑‍💻 man-running 🏃‍♂️ runner 🏃 running 🏃
`;

const parts = NAMES.trim().split(/\s+/);
const EMOJI = new Map();
for (let place = 0; place < parts.length; place += 2) EMOJI.set(parts[place], parts[place + 1]);

/** The emoji of a name; nothing if it is not known. */
export const emojiOf = (name) => EMOJI.get(name);
